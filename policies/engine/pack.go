package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"unicode/utf8"
)

// packed is how a bundle is kept. Text, so that whoever unzips it can read it.
type packed struct {
	Source string            `json:"source"`
	Files  map[string]string `json:"files"`
	// Binary files are those that are no text; a signature may cover some.
	Binary map[string][]byte `json:"binary,omitempty"`
}

// Pack makes a few bytes of a bundle, to be kept for the next start. The same
// bundle gives the same bytes.
func (b Bundle) Pack() ([]byte, error) {
	text := packed{Source: b.Source, Files: make(map[string]string, len(b.Files))}
	for name, content := range b.Files {
		if utf8.Valid(content) {
			text.Files[name] = string(content)
			continue
		}
		if text.Binary == nil {
			text.Binary = map[string][]byte{}
		}
		text.Binary[name] = content
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(zip).Encode(text), zip.Close()); err != nil {
		return nil, fmt.Errorf("packing the policy: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack is the inverse of Pack.
func Unpack(data []byte) (Bundle, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return Bundle{}, fmt.Errorf("unpacking the policy: %w", err)
	}
	var text packed
	// The limit stops a few bytes from unpacking to more than the memory holds.
	if err := json.NewDecoder(io.LimitReader(zip, 16*MaxBytes)).Decode(&text); err != nil {
		return Bundle{}, fmt.Errorf("unpacking the policy: %w", err)
	}
	bundle := Bundle{Source: text.Source, Files: make(map[string][]byte, len(text.Files))}
	for name, content := range text.Files {
		bundle.Files[name] = []byte(content)
	}
	maps.Copy(bundle.Files, text.Binary)
	return bundle, nil
}
