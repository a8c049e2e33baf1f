package cluster

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeTokens gives every account a token and writes the file that the API
// server reads: token, name, uid, groups.
func writeTokens(path string) (map[User]string, error) {
	tokens, file := map[User]string{}, strings.Builder{}
	for _, a := range accounts() {
		tokens[a.user] = rand.Text()
		fmt.Fprintf(&file, "%s,%s,%s,%q\n", tokens[a.user], a.name, a.name, a.groups)
	}
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		return nil, fmt.Errorf("writing tokens: %w", err)
	}
	return tokens, nil
}

// config is a client's, with no limit of its own on requests: the plane's
// tests measure the server and the code under test, not a client's default.
func (c *Cluster) config(token string) *rest.Config {
	return &rest.Config{
		Host:            c.host,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.caPEM},
		QPS:             -1,
	}
}

// Kubeconfig is the path of a user's kubeconfig.
func (c *Cluster) Kubeconfig(as User) string {
	return filepath.Join(c.Dir, string(as)+".kubeconfig")
}

// WriteKubeconfig writes a client's configuration of this plane as a kubeconfig.
func (c *Cluster) WriteKubeconfig(path string, config *rest.Config) error {
	const name = "plane"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("writing kubeconfig: %w", err)
	}
	return nil
}
