package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// ClientFiles returns the files that a source names, one for each client. Such a source is "csv:" followed by names
// separated by commas, by one name with stars as in [filepath.Match], or by a mix of both. ClientFiles returns nil if
// the source has neither a comma nor a star, or is the name of an existing file.
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
				return nil, fieldError("data", "%q: no file matches %q", source, part)
			}
		}
		for _, file := range matches {
			if file == "" {
				return nil, fieldError("data", "%q, want a file on each side of a comma", source)
			}
			if slices.Contains(files, file) {
				return nil, fieldError("data", "%q: %s is listed twice", source, file)
			}
			files = append(files, file)
		}
	}
	if len(files) < 2 {
		return nil, fieldError("data", "%q matches only %s: name it without a star to divide its samples among the clients", source, files[0])
	}
	return files, nil
}

// Each returns the part of the set that comes from each of Spec.Files, or nil without Files.
func (set *Set) Each() (each []*Set) {
	for i, file := range set.Spec.Files {
		one := *set
		one.Spec.Source, one.Spec.Files = "csv:"+file, nil
		one.Train, one.Test = set.Train.Select(set.Train.inFile(i)), set.Test.Select(set.Test.inFile(i))
		each = append(each, &one)
	}
	return each
}

func (d *Data) inFile(file int) (samples []int) {
	for i := range d.Y {
		if d.file == nil || d.file[i] == file {
			samples = append(samples, i)
		}
	}
	return samples
}

// readFiles reads CSV files that all have the columns of the first file, in any order. It collects categories from all
// files.
func readFiles(files []string, lines bool, l layout) (*table, error) {
	var all *csvFile
	var faults []error
	var file []int // number of the file of each row
	persons := 0   // number of persons in the files read so far
	for i, name := range files {
		r, err := openFile(name, lines, l.like(all))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		file = append(file, slices.Repeat([]int{i}, len(r.cells)/len(r.columns))...)
		for row := range r.people {
			r.people[row] += persons
		}
		persons += len(r.known)
		if all == nil {
			all = r
			continue
		}
		all.cells, all.names = append(all.cells, r.cells...), append(all.names, r.names...)
		all.people = append(all.people, r.people...)
		all.lost, all.unread = append(all.lost, r.lost...), append(all.unread, r.unread...)
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	t := all.table()
	if t.name = strings.Join(files, ", "); len(files) > 1 {
		t.file = file
	}
	return t, nil
}

const mostData = 1 << 36

func openFile(path string, lines bool, l layout) (*csvFile, error) {
	f, err := regular.Open(path, os.O_RDONLY, 0, mostData)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	defer f.Close()
	return readCSV(f, path, lines, l)
}

// like returns a layout like l that also requires the columns of the first of several files. For the first file itself,
// the argument is nil. The layout may be called several times for one file.
func (l layout) like(first *csvFile) layout {
	if first == nil {
		return l
	}
	known := make(map[string]bool, len(first.columns))
	for _, c := range first.columns {
		known[c.Name] = true
	}
	return func(r *csvFile) []*column {
		for _, c := range l(r) {
			if !known[c.Name] {
				r.wrong("task: %s has a column %s, which %s does not have: exclude it with drop", r.name, short(c.Name), first.name)
			}
		}
		for _, c := range first.columns {
			at, there := r.where[c.Name]
			if !there && !r.lacks {
				r.wrong("task: %s has no column %s, which %s has: exclude it with drop", r.name, short(c.Name), first.name)
			}
			c.at = at
		}
		r.lacks = r.lacks || r.faults != nil
		return first.columns
	}
}
