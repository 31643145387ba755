package survival

import "github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"

// knownEvents has labels of which the second says that the event happened.
var knownEvents = [][2]string{{"0", "1"}, {"no", "yes"}, {"n", "y"}, {"false", "true"}, {"alive", "dead"}, {"living", "deceased"}, {"censored", "event"}}

// EventLabels returns the label of samples without the event and that of samples with it, as found has them. ok is false if
// the labels in found, of which there is at least one, are not known to have these meanings.
func EventLabels(found []string) (names [2]string, ok bool) {
	for _, pair := range knownEvents {
		names, others := pair, 0
		for _, l := range found {
			switch {
			case cell.OneOf(l, pair[:1]): // 0.0 is 0
				names[0] = l
			case cell.OneOf(l, pair[1:]):
				names[1] = l
			default:
				others++
			}
		}
		if others == 0 && len(found) > 0 {
			return names, true
		}
	}
	return names, false
}
