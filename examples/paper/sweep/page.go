package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// WritePage writes a page of results that ends with their origin: this execution of the program if it has added results
// to a table, otherwise the origin that is already on the page.
func WritePage(path, text string, tables ...*Table) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sweep: %w", err)
	}
	origin := NewOrigin().String()
	begin, _, _ := strings.Cut(origin, "`")
	if i := strings.LastIndex(string(old), begin); i >= 0 && !slices.ContainsFunc(tables, (*Table).changed) {
		origin = string(old[i:])
	}
	if err := os.WriteFile(path, []byte(text+origin), 0o666); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return nil
}
