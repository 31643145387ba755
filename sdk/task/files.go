package task

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ClientFiles returns the files that a source names, each of which is what one client has: "csv:" and two names or more
// with commas between them, or with stars in them as [filepath.Match] has it, or both. It returns nil if the source is one
// file, or none, and that file's own name may have a comma or a star in it.
func ClientFiles(source string) (files []string, err error) {
	list, isCSV := strings.CutPrefix(source, "csv:")
	if _, err := os.Lstat(list); !isCSV || err == nil || !strings.ContainsAny(list, ",*?[") {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimPrefix(part, "csv:")
		matches := []string{part}
		if _, err := os.Lstat(part); err != nil && strings.ContainsAny(part, "*?[") {
			if matches, err = filepath.Glob(part); err != nil || len(matches) == 0 {
				return nil, fieldError("data", "%q: there is no file like %q", source, part)
			}
		}
		for _, file := range matches {
			if file == "" {
				return nil, fieldError("data", "%q, want a file on each side of a comma", source)
			}
			if slices.Contains(files, file) {
				return nil, fieldError("data", "%q: %s is there twice", source, file)
			}
			files = append(files, file)
		}
	}
	if len(files) < 2 {
		return nil, fieldError("data", "%q is %s alone: name it without a star, and its samples are dealt out", source, files[0])
	}
	return files, nil
}

// LoadFiles is [Load] for the data of several clients, each in a CSV file of its own; s.Source is not used. What is fitted
// is fitted on the training samples of all files together, as are classes and categories on all of their rows. Every file
// has all columns but dropped ones, in any order, and a test part of its own. all has the samples of all files,
// one after the other, and each[i] those of files[i]. Errors name the file.
func LoadFiles(s Spec, files []string) (all *Set, each []*Set, err error) {
	s.Source = "csv:" + strings.Join(files, ",")
	if err := s.Validate(); err != nil {
		return nil, nil, err
	}
	var r *csvFile // the rows of all files
	var faults []error
	var names []string // of the columns of all files
	var ends []int     // for each file, the number of rows up to its last one
	for _, name := range files {
		file, err := openFile(name, s.rows(), s.like(r))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		names = append(names, file.names...)
		if r == nil {
			r = file
		} else {
			r.cells, r.people = append(r.cells, file.cells...), together(r.people, file.people)
		}
		ends = append(ends, len(r.cells)/len(r.columns))
	}
	for _, name := range s.Drop {
		if faults == nil && !slices.Contains(names, name) {
			faults = append(faults, fieldError("drop", "%q: no file has such a column", name))
		}
	}
	if faults != nil {
		return nil, nil, errors.Join(faults...)
	}
	whole := r.table()
	whole.name = strings.Join(files, ", ")
	all, err = s.begin(whole, nil)
	if err != nil {
		return nil, nil, err
	}
	from := 0
	for i, file := range files {
		one := &Set{Spec: all.Spec}
		one.Spec.Source = "csv:" + file
		if err := one.split(whole.part(from, ends[i]), nil); err != nil {
			return nil, nil, err
		}
		each, from = append(each, one), ends[i]
	}
	all.join(each)
	if err := all.finish(whole); err != nil {
		return nil, nil, err
	}
	for _, one := range each {
		one.recipe = all.recipe
		if err := one.transform(); err != nil {
			return nil, nil, err
		}
	}
	if !s.Records {
		all.fitted("test split of %v of each file, stratified by label, seed %d", s.TestFraction, s.Seed)
	}
	return all, each, nil
}

// ApplyFiles is [Recipe.Apply] for the data of several clients, each in a CSV file of its own; s.Source is not used. The
// results are those of [LoadFiles].
func (r *Recipe) ApplyFiles(s Spec, files []string) (all *Set, each []*Set, err error) {
	for _, file := range files {
		s.Source = "csv:" + file
		one, fault := r.Apply(s)
		each, err = append(each, one), errors.Join(err, fault)
	}
	if err != nil {
		return nil, nil, err
	}
	whole := *each[0]
	whole.join(each)
	return &whole, each, nil
}

// join makes the samples of all parts those of the set.
func (set *Set) join(each []*Set) {
	train, test := *each[0].Train, *each[0].Test
	set.Train, set.Test = &train, &test
	for _, one := range each[1:] {
		train.add(one.Train)
		test.add(one.Test)
	}
}

// add appends the samples of another set, whose columns are the same, in new memory.
func (d *Data) add(more *Data) {
	d.Person = together(d.Person, more.Person)
	d.X, d.Y, d.Target = slices.Concat(d.X, more.X), slices.Concat(d.Y, more.Y), slices.Concat(d.Target, more.Target)
}

// together appends the persons of another file, who are other ones.
func together(people, more []int) []int {
	first := 0
	for _, who := range people {
		first = max(first, who+1)
	}
	people = slices.Clip(people)
	for _, who := range more {
		people = append(people, first+who)
	}
	return people
}

// part returns the rows from the first to the one before the last.
func (t *table) part(first, last int) *table {
	p := *t
	if t.targets != nil {
		p.targets = t.targets[first:last]
	} else {
		p.labels = t.labels[first:last]
	}
	if t.person != nil {
		p.person = t.person[first:last]
	}
	p.fill = func(row []float32, i int) { t.fill(row, first+i) }
	return &p
}

// like is the layout of a Spec for one of several files: it has the columns of the first one, in any order, whose
// categories are collected over all files. It may be called several times for one file. first is nil for the first one.
func (s Spec) like(first *csvFile) layout {
	return func(r *csvFile) []*column {
		s := s
		s.Drop = slices.DeleteFunc(slices.Clone(s.Drop), func(name string) bool { return !slices.Contains(r.names, name) })
		columns := s.columns(r)
		if first == nil {
			return columns
		}
		for _, c := range columns {
			if !slices.ContainsFunc(first.columns, func(known *column) bool { return known.Name == c.Name }) {
				r.wrong("task: %s has a column %q that %s has not: leave it out with drop", r.name, c.Name, first.name)
			}
		}
		for _, c := range first.columns {
			if c.at, c.timed = slices.Index(r.names, c.Name), false; c.at < 0 && c != first.label() {
				r.lacks = true
				r.wrong("task: %s has no column %q, which %s has: leave it out with drop", r.name, c.Name, first.name)
			}
		}
		return first.columns
	}
}
