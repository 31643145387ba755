// Package heart reads the files of four hospitals, UCI Heart Disease, and changes them as hospitals.sh does: a
// cholesterol or a blood pressure of 0 was not measured and becomes an empty cell, and the degree of disease, 0 to 4,
// becomes the column "ill" with no or yes.
package heart

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Hospitals lists the hospitals by file name, without the extension.
var Hospitals = []string{"cleveland", "hungarian", "switzerland", "va"}

// Rows reads the file of one hospital. It returns the names of the columns, and then one row for each patient.
func Rows(path string) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && len(rows) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for at, column := range rows[0] {
		for _, row := range rows[1:] {
			switch {
			case column == "num" && row[at] == "0":
				row[at] = "no"
			case column == "num":
				row[at] = "yes"
			case row[at] == "0" && (column == "chol" || column == "trestbps"):
				row[at] = ""
			}
		}
		if column == "num" {
			rows[0][at] = "ill"
		}
	}
	return rows, nil
}

// Write reads the files of all hospitals in the folder from and writes them to the folder to. It returns the paths of
// the written files, in the order of Hospitals.
func Write(from, to string) (files []string, err error) {
	for _, name := range Hospitals {
		rows, err := Rows(filepath.Join(from, name+".csv"))
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
			return nil, err
		}
		files = append(files, filepath.Join(to, name+".csv"))
		if err := os.WriteFile(files[len(files)-1], text.Bytes(), 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
}
