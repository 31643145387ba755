package dpmech

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Unit is what a guarantee protects: the part of the data by which two adjacent data sets differ. Its text, which files
// and all texts for people use, is "client", "record" or "person (up to 4 rows of column pid)".
type Unit string

const (
	// Client protects the whole data set of a client, which is the unit of privacy in the paper. Its cost is also an
	// upper bound on the cost for each part of the data set.
	Client Unit = ""
	// Record protects each record of a client, but neither a person with several records nor a client's whole data set.
	// The number of records is public.
	Record Unit = "record"
)

// These are the bounds of the arguments of [Person].
const (
	maxPersonRows = 1 << 16
	maxColumn     = 100 // bytes
)

// Person returns the unit that protects each person. A person is all rows with one value of the named column (1..100
// bytes), of which the first rows (2..65536) count: the reader of the data enforces this number. The number of persons
// is public.
func Person(rows int, column string) Unit {
	return Unit(fmt.Sprintf("person (up to %d rows of column %s)", rows, column))
}

// person returns the arguments of [Person]. rows is 0 if u is no such unit.
func (u Unit) person() (rows int, column string) {
	text, found := strings.CutPrefix(string(u), "person (up to ")
	count, column, _ := strings.Cut(text, " rows of column ")
	if rows, _ = strconv.Atoi(count); !found {
		return 0, ""
	}
	return rows, strings.TrimSuffix(column, ")")
}

// Validate returns an error unless u is Client, Record or a result of [Person] with arguments in range.
func (u Unit) Validate() error {
	if u == Client || u == Record {
		return nil
	}
	rows, column := u.person()
	if rows < 2 || rows > maxPersonRows || u != Person(rows, column) {
		return fmt.Errorf("dpmech: unit is %q, want client or record, or a person such as %q, with 2..%d rows", string(u), Person(4, "pid"),
			maxPersonRows)
	}
	return faults.Text("column of the unit", column, maxColumn)
}

// String returns the text of the unit.
func (u Unit) String() string {
	if u == Client {
		return "client"
	}
	return string(u)
}

// MarshalText returns the same text as String. It fails if u is not valid.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.String()), u.Validate() }

// UnmarshalText sets u to the unit with the given text. An empty text means Client.
func (u *Unit) UnmarshalText(text []byte) error {
	if *u = Unit(text); *u == "client" {
		*u = Client
	}
	return u.Validate()
}

// Each returns the phrase for a cost statement, such as "for each client" or "for each record".
func (u Unit) Each() string { return "for each " + u.String() }

// Phrase returns a space followed by the result of Each. For Client it returns "", because texts about this unit name
// the client anyway.
func (u Unit) Phrase() string {
	if u == Client {
		return ""
	}
	return " " + u.Each()
}

// Kind returns what is replaced in an adjacent data set: "data set", "record" or "person".
func (u Unit) Kind() string {
	switch u {
	case Client:
		return "data set"
	case Record:
		return "record"
	}
	return "person"
}

// Counts reports whether a cost for each unit of the kind spent bounds the cost for each u. A cost for each client does,
// because it bounds the cost for each part of the client's data. Any other cost bounds only the cost for its own unit:
// a run that protects records counts all rows of a person, however many, and a run that protects persons does not say
// what a row loses that moves to another person.
func (u Unit) Counts(spent Unit) bool { return spent == u || spent == Client }

// Conditions returns the assumptions that every certificate for this unit lists under conditional_on. There are none
// for Client.
func (u Unit) Conditions() []string {
	if u == Client {
		return nil
	}
	kind := u.Kind()
	list := []string{
		fmt.Sprintf("the numbers of %ss of all members, which are public and do not change", kind),
		fmt.Sprintf("an oracle whose answer for a %s depends on that %s and the model alone: no batch normalization, no cache "+
			"across %[1]ss, no failure that another %[1]s causes", kind, kind),
		fmt.Sprintf("preprocessing that was not fitted on these %ss", kind),
	}
	if rows, column := u.person(); rows > 0 {
		list = append(list, fmt.Sprintf("a person is all rows with one value of column %s, of which the first %d count", column, rows))
	}
	return list
}
