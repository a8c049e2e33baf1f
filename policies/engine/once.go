package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// unmarshalOnce reads JSON in which no object has a key twice. Of two, others may
// take the first where we take the last; and upper and lower case are one key to
// the decoder.
func unmarshalOnce(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	return keysOnce(json.NewDecoder(bytes.NewReader(text)))
}

// keysOnce goes through one value, of which json.Unmarshal has found that it is
// valid and not too deep.
func keysOnce(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	seen := map[string]bool{}
	for decoder.More() {
		if open == '{' {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			name := fmt.Sprint(key)
			folded := strings.ToLower(strings.ToUpper(name))
			if seen[folded] {
				return fmt.Errorf("the key %q is in it twice, whatever its case", shorten(name, archiveNameMax))
			}
			seen[folded] = true
		}
		if err := keysOnce(decoder); err != nil {
			return err
		}
	}
	_, err = decoder.Token() // the end of it
	return err
}
