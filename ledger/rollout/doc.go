// Package rollout brings policy bundles from where they are kept (a folder, a
// server, or ConfigMaps read through the API) into force, and tells what came of it.
//
// A candidate is compiled and checked before it replaces what is in force; one
// that fails changes nothing. The last good bundle is kept in a ConfigMap of its
// own, so that it is still in force after a restart with a broken source. The
// PolicyRollout object and an event say which file and row was wrong; the users'
// own ConfigMaps are never written to.
package rollout
