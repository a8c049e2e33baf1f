package author

import (
	"maps"
	"path"
	"slices"

	"github.com/holdshort/holdshort/policies/engine"
)

// VendorFolder is where library and defaults lie in a bundle, for other tools.
// It is hidden, so that the engine, which has its own, does not read it.
const VendorFolder = ".holdshort"

// Vendored are the library and those defaults that the bundle does not replace,
// by file name below the bundle's folder.
func Vendored(bundle engine.Bundle) (map[string][]byte, error) {
	parts, err := engine.TakeApart(bundle)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(parts.Embedded)) {
		files[VendorFolder+"/"+path.Base(name)] = parts.Texts[name]
	}
	return files, nil
}
