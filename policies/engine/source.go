package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ReadDir reads a folder. Hidden files and folders are ignored, but for OPA's
// .manifest and .signatures.json at the top; of a mounted
// ConfigMap, where Kubernetes keeps the files behind the symlink ..data, that is
// what is read, so that no file is seen twice or half-updated.
func ReadDir(folder string) (Bundle, error) {
	root, err := resolveRoot(folder)
	if err != nil {
		return Bundle{}, fmt.Errorf("reading bundle: %w", err)
	}
	_, err = os.Stat(filepath.Join(root, signaturesName))
	reader := dirReader{root: root, signed: err == nil, files: map[string][]byte{}}
	if err := filepath.WalkDir(root, reader.visit); err != nil {
		return Bundle{}, fmt.Errorf("reading bundle: %w", err)
	}
	bundle := Bundle{Source: "folder " + folder, Files: reader.files}
	if len(reader.problems) > 0 {
		return bundle, newBundleError(reader.problems)
	}
	return bundle, nil
}

func resolveRoot(folder string) (string, error) {
	if mounted := filepath.Join(folder, "..data"); isDir(mounted) {
		folder = mounted
	}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	if !isDir(root) {
		return "", fmt.Errorf("%s is not a folder. Try: the folder that has data.yaml in it", folder)
	}
	return root, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

type dirReader struct {
	root     string
	signed   bool
	files    map[string][]byte
	bytes    int
	problems []Problem
}

func (r *dirReader) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if name == r.root {
		return nil
	}
	relative, err := filepath.Rel(r.root, name)
	if err != nil {
		return err
	}
	relative = filepath.ToSlash(relative)
	if isHidden(relative) && relative != manifestName && relative != signaturesName {
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	}
	info, err := os.Stat(name) // follows a symlinked file
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return r.add(name, relative)
}

func (r *dirReader) add(name, relative string) error {
	// A signature covers all files, also those without a meaning here.
	if kindOf(relative) == kindOther && relative != manifestName && !r.signed {
		return nil
	}
	if problem, bad := misplaced(relative); bad {
		r.problems = append(r.problems, problem) // read all the same, for the digest
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if r.bytes += len(content); r.bytes > 16*MaxBytes {
		return errors.New("far more text than a policy has. Try: point at the bundle's folder itself")
	}
	r.files[relative] = content
	return nil
}

// FromConfigMaps makes a bundle of the data of ConfigMaps by name. Files are
// named configmap/key. Keys that are neither Rego nor data are ignored.
func FromConfigMaps(configMaps map[string]map[string]string) (Bundle, error) {
	return FromGrantedConfigMaps(configMaps, nil)
}

// ConfigMapFiles are the files of a ConfigMap by name. What kubectl does not take
// for text is in binaryData: a rule that stands there is a rule, or is refused for
// what is wrong in it, but is not left out.
func ConfigMapFiles(data map[string]string, binary map[string][]byte) map[string]string {
	if len(binary) == 0 {
		return data
	}
	files := make(map[string]string, len(data)+len(binary))
	maps.Copy(files, data)
	for key, content := range binary {
		files[key] = string(content)
	}
	return files
}

// FromGrantedConfigMaps is FromConfigMaps for ConfigMaps of which some may only
// write below the roots that are granted to them.
func FromGrantedConfigMaps(configMaps map[string]map[string]string, granted map[string]Roots) (Bundle, error) {
	bundle := Bundle{Files: map[string][]byte{}}
	names := slices.Sorted(maps.Keys(configMaps))
	for _, name := range names {
		for key, content := range configMaps[name] {
			if kindOf(key) != kindOther {
				bundle.Files[name+"/"+key] = []byte(content)
			}
		}
	}
	bundle.Source = "configmap " + strings.Join(names, ", ")
	problems, _ := bundle.checkSize(MaxBytes)
	if len(problems) == 0 {
		for _, name := range names {
			if roots, restricted := granted[name]; restricted {
				problems = append(problems, outside(bundle, name+"/", roots, "what ConfigMap "+name+" may write", ownerAmong(names, granted))...)
			}
		}
	}
	if len(problems) > 0 {
		quoteLines(problems, bundle.Files)
		return bundle, newBundleError(problems)
	}
	return bundle, nil
}

// ownerAmong names the ConfigMap that was granted a path.
func ownerAmong(names []string, granted map[string]Roots) func(fieldPath) string {
	return func(path fieldPath) string {
		for _, name := range names {
			if granted[name].within(path) {
				return "; it is ConfigMap " + name + "'s"
			}
		}
		return ""
	}
}
