package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"path"
	"slices"
)

// Digest names what a policy says: the data as a whole, and the text of rules,
// tests and scenarios with the names of their files. It is the same for a folder,
// ConfigMaps and an archive, however the data is written and spread over files,
// whoever signed it and whatever lies beside it, so that what one person looked
// at and what another one approves are known to be the same.
func (b Bundle) Digest() string {
	doc, problems := readData(b)
	if len(problems) > 0 {
		doc = nil
	}
	return b.digestOf(doc)
}

// digestOf is the digest of a bundle whose data was read; nil if it can't be.
func (b Bundle) digestOf(doc *document) string {
	sum := sha256.New()
	b.sumData(sum, doc)
	var texts []string
	for _, name := range b.names() {
		if kind := kindOf(name); kind != kindOther && kind != kindData {
			text := bytes.TrimRight(b.Files[name], "\n") // a manifest's block has one more, or less
			texts = append(texts, fmt.Sprintf("%d %s %d %s", kind, path.Base(name), len(text), text))
		}
	}
	slices.Sort(texts)
	for _, text := range texts {
		fmt.Fprintf(sum, "%d %s ", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// sumData adds the merged data; the text, if it can't be read.
func (b Bundle) sumData(sum hash.Hash, doc *document) {
	if doc != nil {
		if text, err := json.Marshal(doc.root); err == nil {
			fmt.Fprintf(sum, "data %d %s ", len(text), text)
			return
		}
	}
	for _, name := range b.namesOf(kindData) {
		fmt.Fprintf(sum, "unread %d %s %d %s ", len(name), name, len(b.Files[name]), b.Files[name])
	}
}

// Fingerprint names a bundle to the byte: its files, what is not policy included,
// and where they are from. Only what has the same one is judged alike.
func (b Bundle) Fingerprint() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s ", len(b.Source), b.Source)
	for _, name := range b.names() {
		fmt.Fprintf(sum, "%d %s %d ", len(name), name, len(b.Files[name]))
		sum.Write(b.Files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// shortDigest is how much of a digest people read. It is too little to decide
// by: a second bundle with the same beginning can be searched for.
const shortDigest = 12

// Short is the beginning of a digest, for people to read.
func Short(digest string) string { return digest[:min(shortDigest, len(digest))] }
