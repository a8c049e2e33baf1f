package author

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdshort/holdshort/policies/engine"
)

func TestPackingGivesTheSameBytesAndWhatTheManagerReads(t *testing.T) {
	bundle := bundleOf(rules, bigIsDenied)
	first, err := Pack(bundle, "v1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Pack(bundle, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) {
		t.Error("the same files gave other bytes")
	}
	read, err := engine.ReadArchive("test", first)
	if err != nil {
		t.Fatal(err)
	}
	if read.Revision() != "v1" {
		t.Errorf("the manifest names revision %q, want v1", read.Revision())
	}
	delete(read.Files, manifestName)
	if diff := cmp.Diff(bundle.Files, read.Files); diff != "" {
		t.Errorf("files (-packed +read)\n%s", diff)
	}
}

func TestManifestOfTheFolderIsKept(t *testing.T) {
	bundle := bundleOf(rules, "")
	bundle.Files[manifestName] = []byte(`{"revision": "own", "roots": ["holdshort"]}`)
	archive, err := Pack(bundle, "")
	if err != nil {
		t.Fatal(err)
	}
	read, err := engine.ReadArchive("test", archive)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bundle.Files, read.Files); diff != "" {
		t.Errorf("files (-packed +read)\n%s", diff)
	}
}

func TestTheManagerBelievesOurSignatures(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := Pack(bundleOf(rules, bigIsDenied), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]struct{ private, public any }{
		"RSA": {rsaKey, rsaKey.Public()}, "ECDSA": {ecKey, ecKey.Public()}, "Ed25519": {edKey, public},
	} {
		for _, scope := range []string{"", "production"} {
			t.Run(name+" with scope "+scope, func(t *testing.T) {
				signed, err := Sign(archive, Signing{Key: private(t, key.private), ID: "team", Scope: scope})
				if err != nil {
					t.Fatal(err)
				}
				verify(t, signed, key.public, scope, true)
				other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				verify(t, signed, other.Public(), scope, false)
			})
		}
	}
}

func private(t *testing.T, key any) []byte {
	t.Helper()
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// verify compiles as a manager does that requires a signature by the key.
func verify(t *testing.T, archive []byte, key any, scope string, good bool) {
	t.Helper()
	text, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]byte{"team": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: text})}
	verification, err := engine.NewVerification(keys, scope, true)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := engine.ReadArchive("test", archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Compile(t.Context(), bundle, engine.Options{Verification: verification}); (err == nil) != good {
		t.Errorf("compiling says %v; want it to pass: %t", err, good)
	}
}

func TestSigningRefusesAnAlgorithmThatDoesNotFitTheKey(t *testing.T) {
	archive, err := Pack(bundleOf(rules, ""), "")
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, algorithm string
		key             any
		want            string
	}{
		{"a shared secret", "HS256", ecKey, "HS256 signs with a shared secret, which is not taken. Try: ES256, or leave --algorithm out"},
		{"RSA with an EC key", "RS256", ecKey, "RS256 does not fit an EC key of 256 bits. Try: ES256, or leave --algorithm out"},
		{"another curve", "ES384", ecKey, "ES384 does not fit an EC key of 256 bits. Try: ES256, or leave --algorithm out"},
		{"EC with an RSA key", "ES256", rsaKey, "ES256 does not fit an RSA key. Try: RS256, RS384, RS512, PS256, PS384, PS512, or leave --algorithm out"},
		{"none at all", "none", ecKey, "none does not fit an EC key of 256 bits. Try: ES256, or leave --algorithm out"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Sign(archive, Signing{Key: private(t, c.key), ID: "team", Algorithm: c.algorithm})
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	for _, algorithm := range []string{"RS512", "PS256"} {
		signed, err := Sign(archive, Signing{Key: private(t, rsaKey), ID: "team", Algorithm: algorithm})
		if err != nil {
			t.Fatal(err)
		}
		verify(t, signed, rsaKey.Public(), "", true)
	}
}

func TestSigningSaysWhichKeyItWants(t *testing.T) {
	archive, err := Pack(bundleOf(rules, ""), "")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ key, want string }{
		"no PEM at all":         {"secret", "not in PEM. Try: openssl genpkey"},
		"a public key":          {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "Try: the private one"},
		"a key with passphrase": {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "Try: openssl pkey"},
		"rubbish in PEM":        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "reading the private key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Sign(archive, Signing{Key: []byte(c.key), ID: "team"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestVendoredAreLibraryAndTheDefaultsThatApply(t *testing.T) {
	files, err := Vendored(bundleOf(rules, ""))
	if err != nil {
		t.Fatal(err)
	}
	if files[VendorFolder+"/lib.rego"] == nil || files[VendorFolder+"/classify_queue.rego"] == nil {
		t.Error("library or the default queue is missing")
	}
	if files[VendorFolder+"/classify_priority.rego"] != nil {
		t.Error("the policy has its own priority, so the default would be a conflict")
	}
}

func TestFormatIsStableAndSaysWhereItCannot(t *testing.T) {
	formatted, err := Format("a.rego", []byte("package a\nb   :=   1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("package a\n\nb := 1\n", string(formatted)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err = Format("a.rego", []byte("package a\n\nb if {\n"))
	var bad *engine.BundleError
	if !errors.As(err, &bad) || bad.Problems[0].File != "a.rego" {
		t.Errorf("got %v, want a problem in a.rego", err)
	}
}

func TestBenchAsksEachEntrypoint(t *testing.T) {
	entries, err := Bench(t.Context(), bundleOf(rules, ""), nil, time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
		if e.Runs == 0 || e.Failed != nil {
			t.Errorf("%s: %d runs, %v", e.Name, e.Runs, e.Failed)
		}
	}
	if diff := cmp.Diff([]string{"activate", "classify", "mutate", "deny", "warn", "hold"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
