// Package render prints reports: as tables and text for people, as JSON, YAML,
// JSONPath or names for programs. It decides nothing; what it prints is in the
// report.
package render
