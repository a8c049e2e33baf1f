package policies

import (
	"embed"
	"io/fs"
)

//go:embed default/*.rego
var defaults embed.FS

//go:embed schema/*.json
var schemas embed.FS

//go:embed starter/data.yaml
var starter embed.FS

// Defaults are the library and the default rules, one module per field of the
// contract, in the folder "default". A module is left out of a policy as soon
// as the policy defines its field itself.
func Defaults() fs.FS { return defaults }

// Starter is the data.yaml that a fresh installation begins with.
func Starter() []byte {
	data, err := starter.ReadFile("starter/data.yaml")
	if err != nil {
		panic("the embedded starter/data.yaml is missing: " + err.Error())
	}
	return data
}

// Schema is a JSON Schema of the contract: "data" of data.yaml, "config" of what
// it has under holdshort.config, "input" of what
// rules read, "output" of what they define. They are made from the Go types.
func Schema(name string) []byte {
	schema, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic("there is no embedded schema " + name + ": " + err.Error())
	}
	return schema
}
