package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The smallest and largest valid factors of a column.
const (
	leastScale = 1e-3
	mostScale  = 1e3
)

func (s Spec) checkScale(want func(ok bool, field, format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(s.Scale)) {
		by := s.Scale[name]
		want(inScale(by), "scale", "%q is %v, want %v to %v", name, by, leastScale, float64(mostScale))
	}
	if len(s.Scale) > 0 {
		want(s.kind() != "idx" && (s.Standardize == nil || *s.Standardize), "scale", "names %d columns, want none with idx data or "+
			"without standardize", len(s.Scale))
		want(s.PCA == 0, "scale", "names %d columns, want none with pca %d: components have no names", len(s.Scale), s.PCA)
	}
}

func inScale(by float64) bool { return by >= leastScale && by <= mostScale }

// scales returns the factor of each column before PCA, or nil if Scale is empty. All columns made from one column of
// categories share its factor. Columns that mark missing cells have the factor 1.
func (s Spec) scales(r *Recipe) ([]float64, error) {
	if len(s.Scale) == 0 {
		return nil, nil
	}
	rest, named := s.Scale[everyColumn]
	if !named {
		rest = 1
	}
	scale := slices.Repeat([]float64{1}, r.full())
	for k, j := range firstOf(r.Columns) {
		by, declared := s.Scale[r.Columns[k].Name]
		if !declared {
			by = rest
		}
		for i := range max(1, len(r.Columns[k].Categories)) {
			scale[j+i] = by
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Scale)) {
		if name != everyColumn && indexOf(r.Columns, name) < 0 {
			return nil, fieldError("scale", "%q is not the name of a feature column", name)
		}
	}
	return scale, nil
}

func (s Spec) scaleText() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Scale)) {
		all = append(all, fmt.Sprintf("%s %v", name, s.Scale[name]))
	}
	return strings.Join(all, ", ")
}
