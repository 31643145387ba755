package pair_test

import (
	"fmt"
	"log"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// Two members derive the same noise key for the third release, without a message: from their own private half and the
// other's public half, which is in the fleet file.
func Example() {
	fleet := [32]byte{1} // the hash of the fleet
	a, errA := pair.NewPrivate()
	b, errB := pair.NewPrivate()
	if errA != nil || errB != nil {
		log.Fatal(errA, errB)
	}
	atA, errA := pair.Agree(a, "a", pair.PublicOf(b), "b", fleet)
	atB, errB := pair.Agree(b, "b", pair.PublicOf(a), "a", fleet)
	if errA != nil || errB != nil {
		log.Fatal(errA, errB)
	}
	fmt.Println(atA.Key(fleet, 3) == atB.Key(fleet, 3), atA.Key(fleet, 3) == atA.Key(fleet, 4))
	// Output: true false
}
