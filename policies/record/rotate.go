package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// rotated is a file that is put aside as NAME.1 when it is full; those before
// move on to NAME.2 and so on, and the oldest goes.
type rotated struct {
	name string
	max  int64 // 0: no limit
	keep int
	file *os.File
	size int64
}

func openRotated(name string, limit int64, keep int) (*rotated, error) {
	r := &rotated{name: name, max: limit, keep: keep}
	return r, r.open()
}

func (r *rotated) open() error {
	// Inputs tell who runs what, so the file is its owner's alone.
	file, err := os.OpenFile(r.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of decision records: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("opening the file of decision records: %w", err), file.Close())
	}
	r.file, r.size = file, info.Size()
	return nil
}

func (r *rotated) write(line []byte) error {
	if r.file == nil { // it could not be opened again the last time
		if err := r.open(); err != nil {
			return err
		}
	}
	if r.max > 0 && r.size > 0 && r.size+int64(len(line)) > r.max {
		if err := r.rotate(); err != nil {
			return err
		}
	}
	n, err := r.file.Write(line)
	r.size += int64(n)
	return err
}

func (r *rotated) rotate() error {
	err := r.file.Close()
	r.file = nil
	if err != nil {
		return fmt.Errorf("putting the file of decision records aside: %w", err)
	}
	for i := r.keep; i > 1; i-- {
		err := os.Rename(r.aside(i-1), r.aside(i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("putting the file of decision records aside: %w", err)
		}
	}
	if r.keep > 0 {
		err = os.Rename(r.name, r.aside(1))
	} else {
		err = os.Remove(r.name)
	}
	if err != nil {
		return fmt.Errorf("putting the file of decision records aside: %w", err)
	}
	return r.open()
}

func (r *rotated) aside(i int) string { return fmt.Sprintf("%s.%d", r.name, i) }
