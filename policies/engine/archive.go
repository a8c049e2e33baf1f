package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits on an archive. They are what is read at most, well above what a bundle
// may have, so that one that is only a little too big is told its size.
const (
	// ArchiveBytesMax is how many bytes an archive may have as it comes.
	ArchiveBytesMax = 4 << 20
	// unpackedBytesMax bounds what comes out of it, tar's own blocks included: a
	// few bytes can be packed so that they fill any memory.
	unpackedBytesMax = 8 << 20
	archiveFilesMax  = 2000
	archiveNameMax   = 255
)

// ReadArchive reads an OPA bundle, a tar archive packed by gzip. It needs a
// .manifest, which says for which contract the bundle was written. All files
// count, also those that the engine does not use: a signature covers them.
func ReadArchive(source string, archive []byte) (Bundle, error) {
	if len(archive) > ArchiveBytesMax {
		return Bundle{}, fmt.Errorf("reading the bundle: it has more than %d KiB packed. Try: a bundle of policy only", ArchiveBytesMax>>10)
	}
	reader := archiveReader{files: map[string][]byte{}}
	if err := reader.read(archive); err != nil {
		return Bundle{}, fmt.Errorf("reading the bundle: %w", err)
	}
	bundle := Bundle{Source: source, Files: reader.files}
	if _, there := reader.files[manifestName]; !there && !bundle.isDelta() {
		reader.problems = append(reader.problems, Problem{Code: CodeManifest, Message: "the archive has no " + manifestName + " at its top",
			Try: "tar -C FOLDER -czf bundle.tar.gz . with this .manifest in FOLDER: " + manifestExample})
	}
	if len(reader.problems) > 0 {
		return bundle, newBundleError(reader.problems)
	}
	return bundle, nil
}

type archiveReader struct {
	files    map[string][]byte
	problems []Problem
}

func (r *archiveReader) read(archive []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("it is not packed by gzip (%w). Try: tar -czf", err)
	}
	limited := &limitedReader{from: unzipped, left: unpackedBytesMax}
	entries := tar.NewReader(limited)
	for count := 0; ; count++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return broken(err)
		}
		if count >= archiveFilesMax {
			return fmt.Errorf("it has more than %d files. Try: a bundle of policy only", archiveFilesMax)
		}
		if err := r.entry(header, entries); err != nil {
			return err
		}
	}
	return nothingMore(limited)
}

// nothingMore reads to the very end, where the checksum stands. Beyond the end of
// the files there is only padding: what else is there, others would read.
func nothingMore(rest io.Reader) error {
	block := make([]byte, 4096)
	for {
		n, err := rest.Read(block)
		if len(bytes.Trim(block[:n], "\x00")) > 0 {
			return errors.New("something follows after the last of its files. Try: pack it anew, not tar --append or --concatenate")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(err)
		}
	}
}

func broken(err error) error {
	if errors.Is(err, errTooBig) {
		return err
	}
	return fmt.Errorf("it is damaged or no tar archive: %w. Try: tar -tzf on the same file", err)
}

func (r *archiveReader) entry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a folder. Try: tar --dereference, which stores what a link points to",
			shorten(header.Name, archiveNameMax))
	}
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	if _, twice := r.files[name]; twice {
		return fmt.Errorf("the file %s is in it twice. Try: pack it anew, not tar --append", name)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return broken(err)
	}
	r.files[name] = text
	if problem, bad := misplaced(name); bad {
		r.problems = append(r.problems, problem)
	}
	return nil
}

// entryName is the name of a file relative to the top of the bundle.
func entryName(name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	// Whatever Clean would have to resolve was not written by a packer of bundles.
	plain := strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/")
	odd := clean == "" || clean != plain || !utf8.ValidString(name) || strings.ContainsFunc(name, isControl) || strings.Contains(name, `\`)
	if odd || len(name) > archiveNameMax {
		return "", fmt.Errorf("it has a file called %q. Try: plain names relative to the bundle's folder, like policy/hold.rego",
			shorten(name, archiveNameMax))
	}
	return clean, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

var errTooBig = fmt.Errorf("it unpacks to more than %d KiB. Try: a bundle of policy only", unpackedBytesMax>>10)

// limitedReader fails at the limit, where io.LimitReader would only end.
type limitedReader struct {
	from io.Reader
	left int
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		// At the limit exactly nothing may follow.
		if n, err := r.from.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, errTooBig
	}
	n, err := r.from.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}
