package rollout

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// The files of a folder of credentials: the keys that Kubernetes' own types of
// Secrets have, and token.
const (
	tokenFile       = "token"
	usernameFile    = "username"
	passwordFile    = "password"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// identify puts the credentials into a request and into the transport that
// carries it; secret says whether there are any. Everything is read anew, since
// files are rotated.
func (s Server) identify(request *http.Request) (transport *http.Transport, secret bool, err error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true, // the next request is a minute away, and has a transport of its own
		// Bundles come packed, and what unpacks them has limits of its own.
		DisableCompression: true,
	}
	if s.CA != "" {
		if config.RootCAs, err = authorities(s.CA); err != nil {
			return nil, false, err
		}
	}
	if s.Credentials == "" {
		return transport, false, nil
	}
	files, err := readCredentials(s.Credentials)
	if err != nil {
		return nil, false, err
	}
	if files.token != "" {
		request.Header.Set("Authorization", "Bearer "+files.token)
	}
	if files.username != "" {
		request.SetBasicAuth(files.username, files.password)
	}
	if files.certificate != nil {
		config.Certificates = []tls.Certificate{*files.certificate}
	}
	return transport, true, nil
}

func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in it. Try: the server's authority, in PEM", file)
	}
	return pool, nil
}

type credentials struct {
	token, username, password string
	certificate               *tls.Certificate
}

// readCredentials never shows what it read.
func readCredentials(folder string) (credentials, error) {
	var c credentials
	var err error
	read := func(name string) string {
		text, failed := os.ReadFile(filepath.Join(folder, name))
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
		return strings.TrimSpace(string(text))
	}
	c.token, c.username, c.password = read(tokenFile), read(usernameFile), read(passwordFile)
	certificate, key := read(certificateFile), read(keyFile)
	if err != nil {
		return c, fmt.Errorf("reading the credentials: %w", err)
	}
	if certificate != "" || key != "" {
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		if err != nil {
			return c, fmt.Errorf("%s and %s in %s: %w. Try: a certificate with its own key, both in PEM", certificateFile, keyFile, folder, err)
		}
		c.certificate = &pair
	}
	switch {
	case c.token != "" && c.username != "":
		return c, fmt.Errorf("%s has both %s and %s. Try: one of the two", folder, tokenFile, usernameFile)
	case (c.username == "") != (c.password == ""):
		return c, fmt.Errorf("%s has only one of %s and %s. Try: both", folder, usernameFile, passwordFile)
	case c == credentials{}:
		return c, fmt.Errorf("%s has no credentials in it. Try: the files %s, or %s and %s, or %s and %s",
			folder, tokenFile, usernameFile, passwordFile, certificateFile, keyFile)
	}
	return c, nil
}
