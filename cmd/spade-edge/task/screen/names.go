package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// Near adds suspicions about classes and categories of a recipe, fitted on several tables, that differ only in case,
// spaces or dots at the end, that both mean yes or no, or of which a rare one may be a misspelling of another. It also adds
// suspicions about a table that shares none of its names with another, or has a name in place of one that all others have.
// names has the name of each table.
func Near(r *task.Recipe, all []*Report, names []string) {
	check := func(column string, values []string, list func(*Report) []Count) {
		has := func(p *Report, value string) (rows int) {
			for _, c := range list(p) {
				if c.Value == value {
					rows = c.Rows
				}
			}
			return rows
		}
		groups := map[string][]string{}
		for _, v := range values {
			groups[meaning(v)] = append(groups[meaning(v)], v)
		}
		for _, p := range all {
			p.misspelled(column, list(p))
			own := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has(p, v) == 0 })
			shared := func(o *Report) bool {
				return o != p && slices.ContainsFunc(own, func(v string) bool { return has(o, v) > 0 })
			}
			others := func(v string, want func(int) bool) bool { // all other tables have v in a number of rows that is wanted
				return !slices.ContainsFunc(all, func(o *Report) bool { return o != p && !want(has(o, v)) })
			}
			only := slices.IndexFunc(values, func(v string) bool {
				return often*has(p, v) >= p.Rows && others(v, func(n int) bool { return n == 0 })
			})
			lacks := slices.IndexFunc(values, func(v string) bool {
				return has(p, v) == 0 && others(v, func(n int) bool { return n >= fewest })
			})
			switch alone := len(all) > 1 && len(own) > 1 && !slices.ContainsFunc(all, shared); {
			case alone:
				p.add(NearNames, column, len(own), own[0], "none of its %d names, such as %.40q, occurs in another file", len(own), own[0])
			case len(all) > 2 && only >= 0 && lacks >= 0:
				p.add(NearNames, column, has(p, values[only]), values[only], "%d of %d rows have %.40q, which no other file has, and none has %.40q, as "+
					"all other files do", has(p, values[only]), p.Rows, values[only], values[lacks])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			if len(groups[key]) < 2 {
				continue
			}
			var found []string
			var last *Report
			for _, v := range groups[key] {
				for i, p := range all {
					if n := has(p, v); n > 0 {
						found, last = append(found, fmt.Sprintf("%.40q (%d rows of %s)", v, n, names[i])), p
					}
				}
			}
			if len(found) > 1 {
				how := "differ only in case, spaces or dots"
				if key == yes || key == no {
					how = "all mean " + key
				}
				last.add(NearNames, column, len(found), groups[key][0], "the names %s %s, and count as different", strings.Join(found, ", "), how)
			}
		}
	}
	check(r.Label, r.Classes, func(p *Report) []Count { return p.Classes })
	for k, c := range r.Columns {
		check(c.Name, c.Categories, func(p *Report) []Count { return p.Columns[k].Categories })
	}
}

const (
	yes, no  = "yes", "no"
	often    = 10 // a tenth of the rows or more have a name that is missed elsewhere
	rarely   = 2  // maximum number of rows that have a misspelled name
	commonly = 20 // minimum ratio of the rows that have the right one
)

// words has common names for yes and no.
var words = map[string][]string{
	yes: strings.Fields("yes y ja j oui si sí sì sim tak да true wahr vrai positive positiv positif positivo pos 1 1.0 1,0"),
	no:  strings.Fields("no n nein nee non não nie нет false falsch faux falso negative negativ négatif negativo neg 0 0.0 0,0"),
}

// meaning returns a text that names share which people may use for the same thing.
func meaning(name string) string {
	near := cell.Near(name)
	for word, alike := range words {
		if slices.Contains(alike, near) {
			return word
		}
	}
	return near
}

// misspelled reports rare names that differ in one letter, or in the order of two, from a common name.
func (p *Report) misspelled(column string, counts []Count) {
	for _, rare := range counts {
		for _, common := range counts {
			if rare.Rows > 0 && rare.Rows <= rarely && common.Rows >= commonly*rare.Rows && len(rare.Value) > 3 && slip(rare.Value, common.Value) {
				p.add(NearNames, column, rare.Rows, rare.Value, "%d of %d rows have %.40q, which may be a misspelling of %.40q", rare.Rows, p.Rows,
					rare.Value, common.Value)
			}
		}
	}
}

// slip reports whether a text becomes the other one if one letter is added, taken out or replaced, or two are swapped.
func slip(a, b string) bool {
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return len(x) <= 1 && len(y) <= 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
}
