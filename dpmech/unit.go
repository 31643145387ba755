package dpmech

// Unit is what a guarantee protects: the part of the data by which two adjacent data sets differ.
type Unit int

const (
	// Client protects the whole data set of a client, which is the unit of privacy in the paper. Its cost is also an
	// upper bound on the cost for each record.
	Client Unit = iota
	// Record protects each record of a client, or each person if the unit of [Rows] is a person, but not a client's
	// whole data set. The number of records is public.
	Record
)

var units = names{"Unit", "client", "record"}

// String returns the name used in files: client or record.
func (u Unit) String() string { return units.of(int(u)) }

// MarshalText returns the same name as String. It fails if u is neither Client nor Record.
func (u Unit) MarshalText() ([]byte, error) { return units.text(int(u)) }

// UnmarshalText sets u to the unit with the given name. An empty name means Client.
func (u *Unit) UnmarshalText(name []byte) error { return units.parse((*int)(u), name) }

// Each returns the phrase for a cost statement: "for each client" or "for each record".
func (u Unit) Each() string { return "for each " + u.String() }

// phrase returns a space followed by the result of Each. For Client it returns "", because texts about this unit name
// the client anyway.
func (u Unit) phrase() string {
	if u == Client {
		return ""
	}
	return " " + u.Each()
}

// protected returns the text for the protected unit in a certificate.
func (u Unit) protected() string {
	if u == Record {
		return "one record of one client"
	}
	return "one client's whole data set"
}

// adjacency returns the certificate's description of the data change that the guarantee covers.
func (u Unit) adjacency() string {
	if u == Record {
		return "the record is replaced by any other, and the number of records stays the same"
	}
	return "the data set is replaced by any other"
}

// Conditions returns the assumptions that every certificate for this unit lists under conditional_on. There are none
// for Client.
func (u Unit) Conditions() []string {
	if u != Record {
		return nil
	}
	return []string{
		"the numbers of records of all members, which are public and do not change",
		"an oracle whose answer for a record depends on that record and the model alone: no batch normalization, no cache " +
			"across records, no failure that another record causes",
		"preprocessing that was not fitted on these records",
	}
}

// notCoveredRecord is an additional entry in notCovered for releases that protect each record.
const notCoveredRecord = "a client's whole data set: the guarantee holds for one record"

// unitOf returns Record if any of the spends protects only records, otherwise Client.
func unitOf(spends []Spend) (u Unit) {
	for _, s := range spends {
		u = max(u, s.Unit)
	}
	return u
}
