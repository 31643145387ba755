package flamby

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

// columns of Fed-Heart: those that FLamby keeps.
var heartColumns = []string{"age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak"}

// categories has the number of categories of each variable of Fed-TCGA-BRCA, whose columns begin with its name.
var categories = []struct {
	name string
	n    int
}{
	{"ethnicity_", 3}, {"race_", 4}, {"ajcc_pathologic_m_", 2}, {"ajcc_pathologic_n_", 6}, {"ajcc_pathologic_stage_", 6},
	{"ajcc_pathologic_t_", 4}, {"ajcc_staging_", 4}, {"icd_10_", 2}, {"morphology_", 3}, {"primary_diagnosis_", 3},
	{"prior_malignancy_", 2}, {"synchronous_malignancy_", 2}, {"treatment_or_therapy_", 3}, {"tumor_stage_", 7},
}

// regions is the number of clients of Fed-TCGA-BRCA.
const regions = 6

// files are the training and test files of the clients of a task, and a table of usual values.
type files struct {
	train, test []string
	usual       string
}

// table is a CSV file: its header, then its rows.
type table [][]string

func read(path string) (table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && len(rows) < 2 {
		err = fmt.Errorf("%s has no rows", path)
	}
	return rows, err
}

func (t table) write(path string) error {
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(t); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o666)
}

// pick returns the columns with the given names.
func (t table) pick(names ...string) (table, error) {
	out := make(table, len(t))
	for _, name := range names {
		at := slices.Index(t[0], name)
		if at < 0 {
			return nil, fmt.Errorf("flamby: no column %q in %q", name, t[0])
		}
		for i, row := range t {
			out[i] = append(out[i], row[at])
		}
	}
	return out, nil
}

// store writes a client's parts, and the same with columns standardized by the training part as FLamby does, except for
// the columns in kept.
func (f *files) store(own *files, dir, name string, train, test table, kept []string) error {
	for _, part := range []struct {
		rows table
		to   *[]string
		kind string
	}{
		{train, &f.train, "train"}, {test, &f.test, "test"},
		{train.standardized(train, kept), &own.train, "own-train"}, {test.standardized(train, kept), &own.test, "own-test"},
	} {
		path := filepath.Join(dir, name+"-"+part.kind+".csv")
		*part.to = append(*part.to, path)
		if err := part.rows.write(path); err != nil {
			return err
		}
	}
	return nil
}

// standardized returns t with columns of mean 0 and variance 1 in the rows of train, except for the columns in kept. A gap
// becomes the mean.
func (t table) standardized(train table, kept []string) table {
	out := make(table, len(t))
	for i, row := range t {
		out[i] = slices.Clone(row)
	}
	for j, name := range t[0] {
		if slices.Contains(kept, name) {
			continue
		}
		n, sum, squares := 0.0, 0.0, 0.0
		for _, row := range train[1:] {
			if x, err := strconv.ParseFloat(row[j], 64); err == nil {
				n, sum, squares = n+1, sum+x, squares+x*x
			}
		}
		mean := sum / math.Max(n, 1)
		deviation := math.Sqrt(math.Max(squares/math.Max(n, 1)-mean*mean, 0))
		for _, row := range out[1:] {
			x, err := strconv.ParseFloat(row[j], 64)
			if err != nil || deviation < 1e-9 {
				x = mean
			}
			row[j] = strconv.FormatFloat((x-mean)/math.Max(deviation, 1e-9), 'g', -1, 64)
		}
	}
	return out
}

// hearts writes the files of Fed-Heart to dir: shared by all preparations, and standardized by each hospital.
func hearts(data, agreed, dir string) (f, own files, err error) {
	split, err := read(filepath.Join(data, "flamby", "heart-split.csv"))
	if err != nil {
		return f, own, err
	}
	names := append(slices.Clone(heartColumns), "ill")
	for _, hospital := range heart.Hospitals {
		all, err := heart.Rows(filepath.Join(data, "heart-four-hospitals", hospital+".csv"))
		if err != nil {
			return f, own, err
		}
		rows, err := table(all).pick(names...)
		if err != nil {
			return f, own, err
		}
		parts := map[string]table{"train": {rows[0]}, "test": {rows[0]}}
		for _, line := range split[1:] {
			if at, err := strconv.Atoi(line[1]); line[0] == hospital && err == nil && at < len(rows) {
				parts[line[2]] = append(parts[line[2]], rows[at])
			}
		}
		if err := f.store(&own, dir, hospital, parts["train"], parts["test"], []string{"ill", "cp", "restecg"}); err != nil {
			return f, own, err
		}
	}
	usual, err := read(agreed)
	if err == nil {
		usual, err = usual.pick(names...)
	}
	f.usual = filepath.Join(dir, "agreed-heart.csv")
	if err == nil {
		err = usual.write(f.usual)
	}
	return f, own, err
}

// cancers writes the files of Fed-TCGA-BRCA to dir, like hearts.
func cancers(data, dir string) (f, own files, err error) {
	split, err := read(filepath.Join(data, "flamby", "brca-split.csv"))
	if err != nil {
		return f, own, err
	}
	rows, err := read(filepath.Join(data, "flamby", "brca.csv"))
	if err != nil {
		return f, own, err
	}
	part := map[string]string{}
	for _, line := range split[1:] {
		part[line[0]] = line[2]
	}
	head := rows[0][1:]
	for region := range regions {
		train, test := table{head}, table{head}
		for _, row := range rows[1:] {
			switch part[row[0]] {
			case fmt.Sprint("train_", region):
				train = append(train, row[1:])
			case fmt.Sprint("test_", region):
				test = append(test, row[1:])
			}
		}
		if err := f.store(&own, dir, fmt.Sprint("region", region), train, test, []string{"E", "T"}); err != nil {
			return f, own, err
		}
	}
	f.usual = filepath.Join(dir, "agreed-brca.csv")
	return f, own, usualCancers(head).write(f.usual)
}

// usualCancers returns a table of usual values that describes nobody: two ages, and each category of a variable equally
// often.
func usualCancers(head []string) table {
	const rows = 84 // a multiple of all numbers of categories
	out := table{head}
	for i := range rows {
		row := make([]string, len(head))
		seen := map[string]int{}
		for j, name := range head {
			switch name {
			case "age_at_index":
				row[j] = []string{"45", "75"}[i%2]
			case "T":
				row[j] = strconv.Itoa(182 + 365*(i%6))
			case "E":
				row[j] = strconv.Itoa(i % 2)
			default:
				row[j] = "0"
				for _, c := range categories {
					if !strings.HasPrefix(name, c.name) {
						continue
					}
					if i%c.n == seen[c.name] {
						row[j] = "1"
					}
					seen[c.name]++
					break
				}
			}
		}
		out = append(out, row)
	}
	return out
}
