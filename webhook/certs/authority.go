package certs

import (
	"crypto/x509"
	"net"

	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
)

// anyHost is an authority whose leaves also hold for IP addresses. The source
// puts all hosts into DNSNames, where an address is never looked for; a manager
// outside the cluster is reached by one.
type anyHost struct {
	*authority.DynamicAuthority
}

// Sign signs the template, its addresses moved to where they count.
func (a anyHost) Sign(template *x509.Certificate) (*x509.Certificate, error) {
	return a.DynamicAuthority.Sign(withAddresses(template))
}

func withAddresses(template *x509.Certificate) *x509.Certificate {
	sorted := *template
	sorted.DNSNames = nil
	for _, host := range template.DNSNames {
		if ip := net.ParseIP(host); ip != nil {
			sorted.IPAddresses = append(sorted.IPAddresses, ip)
		} else {
			sorted.DNSNames = append(sorted.DNSNames, host)
		}
	}
	return &sorted
}
