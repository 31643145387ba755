package task

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

const (
	separators  = ",;\t|"  // possible separators, the likeliest first
	headerBytes = 64 << 10 // number of bytes at the start of a file in which the separator is looked for, unless each line is a row
)

// openCSV detects the separator of a file and reads its header. It picks the first separator for which the header has
// all columns of the layout or, if there is none, the separator that yields the most columns. The next record of r is
// the first row. If each line is a row, the separator depends only on the header, and the second result reads
// the text after the header.
func openCSV(in io.Reader, name string, lines bool, l layout) (r *csvFile, below *bufio.Reader, err error) {
	below = bufio.NewReaderSize(in, headerBytes)
	start, _ := below.Peek(headerBytes)
	if lines {
		start = headerText(below)
	}
	if what := cell.Foreign(start); what != "" {
		return nil, nil, fmt.Errorf("task: %s %s", name, what)
	}
	text := bytes.TrimPrefix(start, []byte(byteOrderMark))
	comma, most := ',', 0
	for _, sep := range separators {
		r, err := readHeader(newReader(bytes.NewReader(text), sep), name, l)
		if err != nil {
			continue
		}
		if r.faults == nil {
			comma = sep
			break
		}
		if len(r.names) > most {
			comma, most = sep, len(r.names)
		}
	}
	if in = below; lines {
		in = bytes.NewReader(text)
	} else {
		below.Discard(len(start) - len(text))
	}
	r, err = readHeader(newReader(in, comma), name, l)
	return r, below, err
}

const byteOrderMark = "\ufeff" // some programs write this mark at the start of UTF-8 files

// headerText reads a file up to the end of the header, which is the first line that is not empty or, if that line names the
// separator, the line after it.
func headerText(in *bufio.Reader) (read []byte) {
	for named := false; ; {
		line, err := in.ReadString('\n')
		read = append(read, line...)
		text := strings.ToLower(strings.Trim(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), byteOrderMark), `"`))
		names := !named && strings.HasPrefix(text, "sep=") && len(text) <= len("sep=;")
		if err != nil || text != "" && !names {
			return read
		}
		named = named || names
	}
}

func newReader(r io.Reader, separator rune) *csv.Reader {
	cr := csv.NewReader(r)
	cr.Comma = separator
	cr.ReuseRecord = true
	cr.FieldsPerRecord = -1                 // the caller counts the fields and reports a clearer error
	cr.TrimLeadingSpace = separator != '\t' // the Reader would trim tabs as well
	return cr
}

// readHeader reads the header line. It skips a line before the header that names the separator (Excel writes "sep=;").
func readHeader(cr *csv.Reader, name string, l layout) (*csvFile, error) {
	record, err := cr.Read()
	if err == nil && len(record) <= 2 && strings.HasPrefix(strings.ToLower(record[0]), "sep=") {
		record, err = cr.Read()
	}
	if err == io.EOF {
		return nil, fmt.Errorf("task: %s is empty, want a header line", name)
	} else if err != nil {
		return nil, fmt.Errorf("task: %s: %w", name, unquoted(err))
	}
	r := &csvFile{Reader: cr, name: name, where: map[string]int{}, known: map[string]int{}}
	r.header(record)
	if len(r.names) == 0 {
		return nil, fmt.Errorf("task: %s: the first line is empty, want the column names", name)
	}
	r.columns = l(r)
	return r, nil
}
