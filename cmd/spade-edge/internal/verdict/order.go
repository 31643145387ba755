package verdict

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

const (
	backwards = 0.4 // an AUC of a released model on own rows below which these are reported
	fewRows   = 20  // the minimum number of rows of each class
)

// Backwards says so if a released model, named by which, ranks the own rows of a node with two classes the wrong way round: yes and no may
// be swapped there. It returns "" otherwise. The text comes from the data and must stay on the device.
func Backwards(source *fleetfile.Source, model []float32, which string) string {
	own, ours := source.Oracle.(*task.Model)
	if !ours || own.Data().Classes != 2 || own.Data().Target != nil {
		return ""
	}
	rows := own.Data().Readable()
	ones := 0
	for _, y := range rows.Y {
		ones += y
	}
	if min(ones, rows.Len()-ones) < fewRows {
		return ""
	}
	measure, worth := "AUC", math.NaN()
	if rows.Horizon != nil {
		measure, own = "C-index", own.On(rows)
		if marks, err := own.Marks(model); err == nil {
			worth = own.Worth(marks)
		}
	} else if m, err := own.On(rows).Judge(model); err == nil {
		worth = m.Classes.Binary.AUC.Value // there are rows of both classes
	}
	if !(worth < backwards) {
		return ""
	}
	return fmt.Sprintf("%s ranks this device's %d rows the wrong way round (%s %.2f, 0.5 is chance): check whether %q and %q are "+
		"swapped in its file", which, rows.Len(), measure, worth, rows.ClassNames[0], rows.ClassNames[1])
}
