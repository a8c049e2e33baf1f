package author

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	opabundle "github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// Files of OPA's own in an archive.
const (
	manifestName   = ".manifest"
	signaturesName = ".signatures.json"
)

// Pack makes an OPA bundle of a folder's: a tar archive packed by gzip, with a
// manifest unless the folder has one. The same files give the same bytes, so
// that a server's ETag, or a diff, says whether the policy changed. A signature
// of the folder is left out: it was made of other files.
func Pack(bundle engine.Bundle, revision string) ([]byte, error) {
	files := maps.Clone(bundle.Files)
	delete(files, signaturesName)
	if _, there := files[manifestName]; !there || revision != "" {
		text, err := manifest(files[manifestName], revision, engine.Short(bundle.Digest()))
		if err != nil {
			return nil, err
		}
		files[manifestName] = text
	}
	return pack(files)
}

// manifest adds what is missing to a manifest.
func manifest(text []byte, revision, digest string) ([]byte, error) {
	own := map[string]any{
		"revision": digest, "roots": []string{"holdshort"}, "rego_version": 1,
		"metadata": map[string]any{"holdshort": map[string]any{"contract": policies.Contract}},
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &own); err != nil {
			return nil, fmt.Errorf("reading %s: %w. Try: leave the file out, then one is made", manifestName, err)
		}
	}
	if revision != "" {
		own["revision"] = revision
	}
	made, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", manifestName, err)
	}
	return append(made, '\n'), nil
}

// pack writes neither times nor owners.
func pack(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("packing the bundle: %w", err)
	}
	return out.Bytes(), nil
}

// Signing is by which key a bundle is signed.
type Signing struct {
	Key       []byte // private, in PEM
	ID        string // under which the manager knows the public one
	Algorithm string // empty: the one that fits to the key
	Scope     string // what the manager asks for; may be empty
}

// Sign adds a signature over all files to an archive, in place of one that it has.
func Sign(archive []byte, s Signing) ([]byte, error) {
	bundle, err := engine.ReadArchive("the archive", archive)
	if err != nil {
		return nil, err
	}
	delete(bundle.Files, signaturesName)
	if s.Algorithm, err = algorithmOf(s.Key, s.Algorithm); err != nil {
		return nil, err
	}
	hashes, err := hash(bundle.Files)
	if err != nil {
		return nil, err
	}
	claims, done, err := claimsFile(s)
	if err != nil {
		return nil, err
	}
	defer done()
	token, err := opabundle.GenerateSignedToken(hashes, opabundle.NewSigningConfig(string(s.Key), s.Algorithm, claims), s.ID)
	if err != nil {
		return nil, fmt.Errorf("signing with %s: %w", s.Algorithm, err)
	}
	text, err := json.Marshal(map[string]any{"signatures": []string{token}})
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", signaturesName, err)
	}
	bundle.Files[signaturesName] = append(text, '\n')
	return pack(bundle.Files)
}

// claimsFile is how OPA's signer takes a scope; done removes it.
func claimsFile(s Signing) (name string, done func(), err error) {
	if s.Scope == "" {
		return "", func() {}, nil
	}
	file, err := os.CreateTemp("", "claims-*.json")
	if err != nil {
		return "", nil, fmt.Errorf("signing: %w", err)
	}
	done = func() { _ = os.Remove(file.Name()) }
	err = json.NewEncoder(file).Encode(map[string]string{"scope": s.Scope, "keyid": s.ID})
	if err = errors.Join(err, file.Close()); err != nil {
		done()
		return "", nil, fmt.Errorf("signing: %w", err)
	}
	return file.Name(), done, nil
}

// hash sums each file up as whoever verifies it does: documents by what they
// say, all else by its bytes.
func hash(files map[string][]byte) ([]opabundle.FileInfo, error) {
	hasher, err := opabundle.NewSignatureHasher(opabundle.SHA256)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	var infos []opabundle.FileInfo
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var content any = files[name]
		if opabundle.IsStructuredDoc(name) {
			if err := util.Unmarshal(files[name], &content); err != nil {
				return nil, fmt.Errorf("signing %s: %w", name, err)
			}
		}
		sum, err := hasher.HashFile(content)
		if err != nil {
			return nil, fmt.Errorf("signing %s: %w", name, err)
		}
		infos = append(infos, opabundle.NewFile(name, hex.EncodeToString(sum), string(opabundle.SHA256)))
	}
	return infos, nil
}
