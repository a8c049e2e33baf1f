package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are the files that the programs read.
type credentials struct {
	caPEM          []byte
	servingCert    string
	servingKey     string
	serviceAccount string // signs tokens
}

// writeCredentials makes a certificate for the loopback address, signed by
// itself and therefore its own authority, and a key that signs tokens. Made
// here since the API server's own takes longer.
func writeCredentials(dir string) (*credentials, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	certPEM, err := selfSigned(key)
	if err != nil {
		return nil, err
	}
	_, signerPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	made := &credentials{
		caPEM:          certPEM,
		servingCert:    filepath.Join(dir, "serving.crt"),
		servingKey:     filepath.Join(dir, "serving.key"),
		serviceAccount: filepath.Join(dir, "service-account.key"),
	}
	files := map[string][]byte{made.servingCert: certPEM, made.servingKey: keyPEM, made.serviceAccount: signerPEM}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("writing credentials: %w", err)
		}
	}
	return made, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func selfSigned(key *ecdsa.PrivateKey) ([]byte, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "holdshort test plane"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
