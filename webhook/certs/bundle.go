package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// bundleMax is how many authorities the API server is told to trust at once:
// the present one and those before it whose leaves may still be in use.
const bundleMax = 3

// merge returns the bundle with the authority's certificate in it, without what
// has expired or cannot be read, oldest first. An unchanged bundle comes back
// byte for byte, so that nothing is written for nothing.
func merge(bundle, ca []byte, now time.Time) []byte {
	present := parse(ca)
	if len(present) == 0 {
		return bundle
	}
	kept := slices.DeleteFunc(parse(bundle), func(c *x509.Certificate) bool {
		return now.After(c.NotAfter) || contains(present, c)
	})
	slices.SortStableFunc(kept, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) })
	kept = kept[max(0, len(kept)-bundleMax+len(present)):]
	var out bytes.Buffer
	for _, c := range append(kept, present...) {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.Bytes()
}

// parse reads the certificates of a PEM file, leaving out what is none.
func parse(data []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && !contains(out, c) {
			out = append(out, c)
		}
	}
}

func contains(all []*x509.Certificate, c *x509.Certificate) bool {
	return slices.ContainsFunc(all, c.Equal)
}
