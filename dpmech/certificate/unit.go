package certificate

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// protected returns the text for the protected unit in a certificate.
func protected(u dpmech.Unit) string {
	if u == dpmech.Client {
		return "one client's whole data set"
	}
	return "one " + u.String() + " of one client"
}

// adjacency returns the certificate's description of the data change that the guarantee covers.
func adjacency(u dpmech.Unit) string {
	switch u {
	case dpmech.Client:
		return "the data set is replaced by any other"
	case dpmech.Record:
		return "the record is replaced by any other, and the number of records stays the same"
	}
	return "all rows of the person are replaced by any other rows, and the number of persons stays the same"
}

// notProtected returns the additional entry in a certificate's not_covered for a unit other than Client.
func notProtected(u dpmech.Unit) string {
	return fmt.Sprintf("a client's whole data set: the guarantee holds for one %s", u.Kind())
}
