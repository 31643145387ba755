package fleetfile

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/spade-dfl/spade-edge/sdk"
)

// ProgramTask returns the value of "program" if it is the only field of the fleet's task: the JSON object that each
// member's program must repeat in its hello. The object says what the fleet's numbers mean, such as a model's name, or a
// seed from which the program makes parameters. ProgramTask returns nil for any other task.
func ProgramTask(fleet *sdk.Fleet) json.RawMessage {
	var form map[string]json.RawMessage
	if json.Unmarshal(fleet.Task, &form) != nil || len(form) != 1 || !bytes.HasPrefix(form["program"], []byte("{")) {
		return nil
	}
	return form["program"]
}

// MakeProgramTask returns the task of a fleet whose programs repeat the JSON object in text. It fails if text is not a
// JSON object.
func MakeProgramTask(text []byte) (json.RawMessage, error) {
	var object map[string]any
	if err := Decode(text, MaxFile, 0, &object); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(`{"program":`)
	_ = json.Compact(&out, text) // it has been decoded
	out.WriteByte('}')
	return out.Bytes(), nil
}

// checkProgram compares a program's hello, its number of parameters and its task as JSON, with the fleet.
func checkProgram(fleet *sdk.Fleet, dim int, task string) error {
	want := ProgramTask(fleet)
	switch {
	case dim != fleet.Dim:
		return Mismatchf("oracle.stream has %d parameters, but the fleet's dim is %d", dim, fleet.Dim)
	case task == "" && want == nil:
		return nil
	case want == nil:
		return Mismatchf("oracle.stream has the task %.300s in its hello, but the fleet's task is not for a program", task)
	case task == "":
		return Mismatchf("oracle.stream has no task in its hello, want %.300s, as in task.program of the fleet file", want)
	case !sameJSON([]byte(task), want):
		return Mismatchf("oracle.stream has the task %.300s in its hello, want %.300s, as in task.program of the fleet file", task, want)
	}
	return nil
}

// sameJSON reports whether two JSON texts have the same values, apart from white space and the order of fields. Numbers
// must have the same digits.
func sameJSON(a, b []byte) bool {
	values := [2]any{}
	for i, text := range [][]byte{a, b} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
