package author

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// howToMakeAKey is what to try without one that fits.
const howToMakeAKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem; openssl pkey -in key.pem -pubout -out key.pub"

// algorithmOf is how bundles are signed with a private key in PEM: as wanted, if
// that fits, or in the first way that does.
func algorithmOf(text []byte, wanted string) (string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("the key is not in PEM. Try: %s", howToMakeAKey)
	}
	key, err := parseKey(block)
	if err != nil {
		return "", err
	}
	kind, fitting := algorithmsOf(key)
	switch {
	case len(fitting) == 0:
		return "", fmt.Errorf("no bundle is signed with this kind of key. Try: %s", howToMakeAKey)
	case wanted == "":
		return fitting[0], nil
	case slices.Contains(fitting, wanted):
		return wanted, nil
	case strings.HasPrefix(wanted, "HS"):
		return "", fmt.Errorf("%s signs with a shared secret, which is not taken. Try: %s, or leave --algorithm out", wanted, fitting[0])
	}
	return "", fmt.Errorf("%s does not fit %s. Try: %s, or leave --algorithm out", wanted, kind, strings.Join(fitting, ", "))
}

// algorithmsOf are those that a key can be used with.
func algorithmsOf(key any) (kind string, fitting []string) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return "an RSA key", []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PrivateKey:
		bits := key.Curve.Params().BitSize
		if algorithm := map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[bits]; algorithm != "" {
			return fmt.Sprintf("an EC key of %d bits", bits), []string{algorithm}
		}
	case ed25519.PrivateKey:
		return "an Ed25519 key", []string{"EdDSA"}
	}
	return "", nil
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
