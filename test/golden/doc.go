// Package golden holds what a test made against a file that people have looked
// at. The flag -update, which belongs to the package of the test, writes it anew.
package golden
