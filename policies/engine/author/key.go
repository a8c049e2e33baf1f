package author

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// howToMakeAKey is what to try without one that fits.
const howToMakeAKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem; openssl pkey -in key.pem -pubout -out key.pub"

// algorithmOf is how bundles are signed with a private key in PEM.
func algorithmOf(text []byte) (string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("the key is not in PEM. Try: %s", howToMakeAKey)
	}
	key, err := parseKey(block)
	if err != nil {
		return "", err
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return "RS256", nil
	case *ecdsa.PrivateKey:
		if algorithm := map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Curve.Params().BitSize]; algorithm != "" {
			return algorithm, nil
		}
	case ed25519.PrivateKey:
		return "EdDSA", nil
	}
	return "", fmt.Errorf("no bundle is signed with this kind of key. Try: %s", howToMakeAKey)
}

func parseKey(block *pem.Block) (any, error) {
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("the key has a passphrase. Try: openssl pkey -in KEY -out key.pem, and keep that file safe")
	case "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE":
		return nil, errors.New("this is the public key, which only verifies. Try: the private one")
	default:
		return nil, fmt.Errorf("a PEM block %q is no private key. Try: %s", block.Type, howToMakeAKey)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	return key, nil
}
