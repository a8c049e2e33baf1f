package engine

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	opabundle "github.com/open-policy-agent/opa/v1/bundle"
)

// Verification is how the signatures of bundles are checked. The zero value
// checks none.
type Verification struct {
	keys     map[string]publicKey
	scope    string
	required bool
}

// publicKey is a key and what it may be used for: which algorithms is for us to
// say, not for the signature.
type publicKey struct {
	pem        string
	algorithms []string
}

// usualPlugin is what opa build calls OPA's own way to sign; opa sign says
// nothing, and means the same.
const usualPlugin = "_default"

// rsaBitsMin is what is still thought safe.
const rsaBitsMin = 2048

// NewVerification makes a Verification of public keys in PEM, by their ids. If
// required is false, a bundle without a signature is taken, too.
func NewVerification(keys map[string][]byte, scope string, required bool) (Verification, error) {
	v := Verification{keys: map[string]publicKey{}, scope: scope, required: required}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		algorithms, err := keyAlgorithms(keys[id])
		if err != nil {
			return Verification{}, fmt.Errorf("key %s: %w", id, err)
		}
		v.keys[id] = publicKey{pem: string(keys[id]), algorithms: algorithms}
	}
	if required && len(keys) == 0 {
		return Verification{}, errors.New("signatures are required, but there is no key to check them with. Try: a public key in PEM")
	}
	return v, nil
}

// keyAlgorithms are those that fit to the kind of a key. None of them takes the
// key for a shared secret.
func keyAlgorithms(text []byte) ([]string, error) {
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("want exactly one public key in PEM. Try: openssl pkey -in PRIVATE -pubout")
	}
	var key any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var certificate *x509.Certificate
		if certificate, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = certificate.PublicKey
		}
	default:
		return nil, fmt.Errorf("a %s is no public key. Try: openssl pkey -in PRIVATE -pubout", strings.ToLower(block.Type))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < rsaBitsMin {
			return nil, fmt.Errorf("an RSA key of %d bits is too short. Try: %d or more", key.N.BitLen(), rsaBitsMin)
		}
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, nil
	case *ecdsa.PublicKey:
		if algorithm := map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Curve.Params().BitSize]; algorithm != "" {
			return []string{algorithm}, nil
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}, nil
	}
	return nil, errors.New("no bundle is signed with this kind of key. Try: RSA, ECDSA (P-256, P-384, P-521) or Ed25519")
}

// anyKey is the id of a key that is believed, for an example.
func (v Verification) anyKey() string {
	for _, id := range slices.Sorted(maps.Keys(v.keys)) {
		return id
	}
	return "ID"
}

// check says what is wrong with a bundle's signature.
func (v Verification) check(b Bundle) (problems, warnings []Problem) {
	text, signed := b.Files[signaturesName]
	switch {
	case !signed && v.required:
		return []Problem{{Code: CodeSignature, Message: "no signature, and one is required", Try: "kubectl holdshort policy sign ARCHIVE --key key.pem --key-id " + v.anyKey() + v.scopeFlag()}}, nil
	case !signed:
		return nil, nil
	case len(v.keys) == 0:
		return nil, []Problem{{File: signaturesName, Code: CodeSignature, Message: "the bundle is signed, but not checked: there is no key to check it with",
			Try: "give the manager the public key; kubectl holdshort policy check --keys-dir checks it here"}}
	}
	files, err := v.signedFiles(text)
	if err != nil {
		return []Problem{{File: signaturesName, Code: CodeSignature, Message: err.Error()}}, nil
	}
	for _, name := range b.names() {
		if name == signaturesName {
			continue
		}
		if err := verifyFile(name, b.Files[name], files); err != nil {
			problems = append(problems, Problem{File: name, Code: CodeSignature, Message: err.Error(), Try: "sign the bundle anew after each change"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		problems = append(problems, Problem{File: name, Code: CodeSignature, Message: "the file is signed, but not in the bundle", Try: "ship all files that were signed"})
	}
	return problems, nil
}

// signedFiles are the files that a signature vouches for, if it is good.
func (v Verification) signedFiles(text []byte) (map[string]opabundle.FileInfo, error) {
	var signatures opabundle.SignaturesConfig
	if err := unmarshalOnce(text, &signatures); err != nil {
		return nil, fmt.Errorf("not a signature file: %w. Try: kubectl holdshort policy sign", err)
	}
	if len(signatures.Signatures) != 1 || signatures.Plugin != "" && signatures.Plugin != usualPlugin {
		return nil, errors.New("want exactly one signature, and no plugin for it. Try: kubectl holdshort policy sign")
	}
	signatures.Plugin = ""
	id, algorithm, err := claimed(signatures.Signatures[0])
	if err != nil {
		return nil, fmt.Errorf("not a signature: %w. Try: kubectl holdshort policy sign", err)
	}
	known := slices.Sorted(maps.Keys(v.keys))
	if id == "" && len(known) == 1 {
		id = known[0]
	}
	key, there := v.keys[id]
	if !there {
		return nil, fmt.Errorf("it is signed with the key %q, which is not among those that count. Try: sign it with one of %s", id, strings.Join(known, ", "))
	}
	if !slices.Contains(key.algorithms, algorithm) {
		return nil, fmt.Errorf("it is signed by %q, which does not go with the key %s. Try: --signing-alg %s", algorithm, id, key.algorithms[0])
	}
	keys := map[string]*opabundle.KeyConfig{id: {Key: key.pem, Algorithm: algorithm}}
	files, err := opabundle.VerifyBundleSignature(signatures, opabundle.NewVerificationConfig(keys, id, v.scope, nil))
	if err != nil && err.Error() == "scope mismatch" {
		return nil, v.otherScope(signatures.Signatures[0])
	}
	if err != nil {
		return nil, fmt.Errorf("the signature does not hold with key %s: %w. Try: sign the bundle anew", id, err)
	}
	return files, nil
}

// claimed is by which key and algorithm a token says that it was signed. The
// claim only chooses among what is allowed.
func claimed(token string) (key, algorithm string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("want three parts with dots between them")
	}
	var header struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
	}
	var payload struct {
		Key string `json:"keyid"` // where older signers write it
	}
	for i, into := range []any{&header, &payload} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return "", "", err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return "", "", err
		}
	}
	return cmp.Or(header.Key, payload.Key), header.Algorithm, nil
}

// otherScope is said of a signature that is good but for its scope.
func (v Verification) otherScope(token string) error {
	var payload struct {
		Scope string `json:"scope"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err == nil {
		err = json.Unmarshal(text, &payload)
	}
	switch {
	case err != nil:
		return fmt.Errorf("not a signature: %w. Try: kubectl holdshort policy sign", err)
	case v.scope == "":
		return fmt.Errorf("it is signed for the scope %q, and none is asked for. Try: --scope %s where it is checked, or --policy-signature-scope of the manager", payload.Scope, payload.Scope)
	case payload.Scope == "":
		return fmt.Errorf("it is signed for no scope, and the scope %q is asked for. Try: kubectl holdshort policy sign with --scope %s", v.scope, v.scope)
	}
	return fmt.Errorf("it is signed for the scope %q, and the scope %q is asked for. Try: kubectl holdshort policy sign with --scope %s", payload.Scope, v.scope, v.scope)
}

// scopeFlag of a command that signs for what is asked for.
func (v Verification) scopeFlag() string {
	if v.scope == "" {
		return ""
	}
	return " --scope " + v.scope
}

// verifyFile holds a file against its signed hash, and takes it off the list.
func verifyFile(name string, content []byte, files map[string]opabundle.FileInfo) error {
	info, there := files[name]
	if !there {
		return errors.New("the signature does not cover this file")
	}
	if !strings.HasPrefix(info.Algorithm, "SHA-2") && !strings.HasPrefix(info.Algorithm, "SHA-384") && !strings.HasPrefix(info.Algorithm, "SHA-512") {
		return fmt.Errorf("the signature uses the hash %q, which can be forged or is unknown", info.Algorithm)
	}
	err := opabundle.VerifyBundleFile(name, *bytes.NewBuffer(content), files)
	delete(files, name)
	if err != nil {
		return fmt.Errorf("the file is not as it was signed: %s", strings.TrimPrefix(err.Error(), name+": "))
	}
	return nil
}
