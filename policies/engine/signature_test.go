package engine

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"

	opabundle "github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"
)

// pair is a private and a public key in PEM.
type pair struct{ private, public string }

func pairOf(t testing.TB, key crypto.Signer) pair {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
}

func ecPair(t testing.TB) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pairOf(t, key)
}

// signed adds .signatures.json as OPA's own signer writes it.
func signed(t testing.TB, all map[string][]byte, key, algorithm, id, hash string) map[string][]byte {
	t.Helper()
	hasher, err := opabundle.NewSignatureHasher(opabundle.HashingAlgorithm(hash))
	if err != nil {
		t.Fatal(err)
	}
	var infos []opabundle.FileInfo
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var value any = all[name]
		if opabundle.IsStructuredDoc(name) {
			if err := util.Unmarshal(all[name], &value); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := hasher.HashFile(value)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, opabundle.NewFile(name, hex.EncodeToString(sum), hash))
	}
	token, err := opabundle.GenerateSignedToken(infos, opabundle.NewSigningConfig(key, algorithm, ""), id)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(opabundle.SignaturesConfig{Signatures: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	out := maps.Clone(all)
	out[signaturesName] = text
	return out
}

func verification(t testing.TB, scope string, keys ...string) Verification {
	t.Helper()
	byID := map[string][]byte{}
	for i := 0; i+1 < len(keys); i += 2 {
		byID[keys[i]] = []byte(keys[i+1])
	}
	v, err := NewVerification(byID, scope, true)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEachKindOfKeySignsAndVerifies(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, rsaBitsMin)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		algorithm string
		keys      pair
	}{
		{"RS256", pairOf(t, rsaKey)}, {"PS512", pairOf(t, rsaKey)}, {"ES256", ecPair(t)}, {"ES384", pairOf(t, p384)}, {"EdDSA", pairOf(t, edKey)},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			for _, id := range []string{"release", ""} { // with one key, a signature need not name it
				bundle := Bundle{Files: signed(t, goodFiles(), c.keys.private, c.algorithm, id, "SHA-256")}
				revision, err := Compile(context.Background(), bundle, Options{Verification: verification(t, "", "release", c.keys.public)})
				if err != nil {
					t.Fatalf("key id %q: %v", id, err)
				}
				if len(revision.Warnings()) > 0 {
					t.Errorf("warnings: %v", revision.Warnings())
				}
			}
		})
	}
}

// TestOnlyWhatTheSignatureCoversComesIntoForce: each case is a bundle that was
// signed well and then changed, or checked with something else.
func TestOnlyWhatTheSignatureCoversComesIntoForce(t *testing.T) {
	keys, other := ecPair(t), ecPair(t)
	ours := verification(t, "", "release", keys.public)
	sign := func(hash string) map[string][]byte {
		return signed(t, goodFiles(), keys.private, "ES256", "release", hash)
	}
	good := sign("SHA-256")
	with := func(name, text string) map[string][]byte {
		all := maps.Clone(good)
		all[name] = []byte(text)
		return all
	}
	without := func(name string) map[string][]byte {
		all := maps.Clone(good)
		delete(all, name)
		return all
	}
	hmac := signed(t, goodFiles(), keys.public, "HS256", "release", "SHA-256")
	var double opabundle.SignaturesConfig
	if err := json.Unmarshal(good[signaturesName], &double); err != nil {
		t.Fatal(err)
	}
	double.Signatures = append(double.Signatures, double.Signatures[0])
	twice, err := json.Marshal(double)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		files map[string][]byte
		v     Verification
		says  string
	}{
		{"no signature", goodFiles(), ours, "no signature, and one is required"},
		{"no signature for the scope", goodFiles(), verification(t, "prod", "release", keys.public), "--key-id release --scope prod"},
		{"another's key under our name", signed(t, goodFiles(), other.private, "ES256", "release", "SHA-256"), ours, "does not hold with key release"},
		{"a key that we don't have", signed(t, goodFiles(), other.private, "ES256", "rogue", "SHA-256"), ours, `the key "rogue"`},
		{"no key named, of two", signed(t, goodFiles(), keys.private, "ES256", "", "SHA-256"), verification(t, "", "a", keys.public, "b", other.public), "Try: sign it with one of a, b"},
		{"our public key as a shared secret", hmac, ours, `"HS256", which does not go with the key release`},
		{"another scope", good, verification(t, "prod", "release", keys.public), `signed for no scope, and the scope "prod" is asked for. Try: kubectl holdshort policy sign with --scope prod`},
		{"a changed rule", with("holdshort/policy.rego", "package holdshort.policy"), ours, "holdshort/policy.rego: the file is not as it was signed"},
		{"changed data", with("data.yaml", strings.Replace(string(good["data.yaml"]), "default", "other", 1)), ours, "data.yaml: the file is not as it was signed"},
		{"a changed manifest", with(".manifest", strings.Replace(goodManifest, "r7", "r8", 1)), ours, ".manifest: the file is not as it was signed"},
		{"a file more", with("deny.rego", "package holdshort.policy"), ours, "deny.rego: the signature does not cover this file"},
		{"data of a team more", with("team.data.yaml", "{}"), ours, "team.data.yaml: the signature does not cover this file"},
		{"a file less", without("holdshort/policy.rego"), ours, "holdshort/policy.rego: the file is signed, but not in the bundle"},
		{"a hash that can be forged", sign("MD5"), ours, `"MD5"`},
		{"two signatures", with(signaturesName, string(twice)), ours, "exactly one signature"},
		{"signatures twice", with(signaturesName, strings.Replace(string(good[signaturesName]), "{", `{"signatures": ["abc"], `, 1)), ours, `the key "signatures" is in it twice`},
		{"a plugin", with(signaturesName, strings.Replace(string(good[signaturesName]), "{", `{"plugin": "x", `, 1)), ours, "no plugin"},
		{"no signature in the file", with(signaturesName, "{}"), ours, "exactly one signature"},
		{"a signature that is none", with(signaturesName, `{"signatures": ["abc"]}`), ours, "three parts"},
		{"a signature of other text", with(signaturesName, `{"signatures": ["!.!.!"]}`), ours, "not a signature"},
		{"a file that is no JSON", with(signaturesName, `{`), ours, "not a signature file"},
	}
	// What opa build calls OPA's own way to sign is no plugin.
	named := with(signaturesName, strings.Replace(string(good[signaturesName]), "{", `{"plugin": "_default", `, 1))
	if _, err := Compile(context.Background(), Bundle{Files: named}, Options{Verification: ours}); err != nil {
		t.Errorf("as opa build signs it: %v", err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile(context.Background(), Bundle{Files: c.files}, Options{Verification: c.v})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Try:") {
				t.Errorf("got %v, want an error with %q and advice", err, c.says)
			}
		})
	}
}

func TestASignatureThatNobodyChecksIsWarnedOf(t *testing.T) {
	revision := mustCompile(t, Bundle{Files: signed(t, goodFiles(), ecPair(t).private, "ES256", "x", "SHA-256")})
	if warnings := revision.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0].Message, "signed, but not checked") {
		t.Errorf("warnings: %v", warnings)
	}
}

func TestASignedFolderIsReadWhole(t *testing.T) {
	keys := ecPair(t)
	all := signed(t, goodFiles(), keys.private, "ES256", "release", "SHA-256")
	bundle, err := ReadDir(folder(t, all))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(context.Background(), bundle, Options{Verification: verification(t, "", "release", keys.public)}); err != nil {
		t.Error(err)
	}
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	keys := ecPair(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, says string }{
		{"no PEM", "secret", "exactly one public key"},
		{"two keys", keys.public + keys.public, "exactly one public key"},
		{"a private key", keys.private, "private key is no public key"},
		{"a broken key", strings.Replace(keys.public, "M", "N", 1), "reading the public key"},
		{"a short key", pairOf(t, small).public, "1024 bits is too short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewVerification(map[string][]byte{"mine": []byte(c.text)}, "", true)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "mine") {
				t.Errorf("got %v, want an error with %q that names the key", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), strings.TrimSpace(c.text)) {
				t.Error("the error shows the key")
			}
		})
	}
	if _, err := NewVerification(nil, "", true); err == nil {
		t.Error("signatures are required, and nothing can check them")
	}
	if _, err := NewVerification(map[string][]byte{"a": bytes.TrimSpace([]byte(keys.public))}, "", true); err != nil {
		t.Error(err)
	}
}
