// Command c implements the C library of SPADE-Edge. The header spade_edge.h documents the library's functions, and
// README.md explains how to build it.
package main

/*
#include <stdlib.h>
#include "spade_edge.h"

extern void spade_go_set_error(const char *text, size_t length);
extern double spade_go_loss(uintptr_t loss, const float *x, size_t d, size_t sample, uintptr_t user);
extern void spade_go_line(uintptr_t line, const char *text, uintptr_t user);
*/
import "C"

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/spade-dfl/spade-edge/examples/c/host"
)

func main() {}

// node is an open node. The host program refers to it by a handle.
type node struct {
	*host.Node
	one   sync.Mutex        // held while lines is set, and while the host's function is called
	lines func(text string) // set by spade_lines; nil means host.Warnings
}

// open maps handles to open nodes of type *node. Handles are numbers, because C code must not hold Go pointers.
var (
	open sync.Map
	last atomic.Int32 // latest handle
)

// loss is the host's oracle. The goroutine that runs the node sends it one query at a time.
type loss struct {
	call, user C.uintptr_t
	x          *C.float // in C's memory, because no Go pointer leaves this package; nil before the first call
}

func (l *loss) ask(_ context.Context, x []float32, sample int) (float64, error) {
	if l.x == nil {
		l.x = (*C.float)(C.malloc(C.size_t(4 * len(x))))
	}
	copy(unsafe.Slice((*float32)(l.x), len(x)), x)
	return float64(C.spade_go_loss(l.call, l.x, C.size_t(len(x)), C.size_t(sample), l.user)), nil
}

func (l *loss) end() {
	C.free(unsafe.Pointer(l.x))
	l.x = nil
}

// say passes a line to the host's function call.
func (n *node) say(line string, call, user C.uintptr_t) {
	text := C.CString(line)
	defer C.free(unsafe.Pointer(text))
	n.one.Lock()
	defer n.one.Unlock()
	C.spade_go_line(call, text, user)
}

// result runs the function given as call and returns the resulting number. If the function fails, result stores the
// error text for the calling thread and returns the negated error code.
func result(call func() (int64, error)) C.int64_t {
	n, err := host.Guard(call)
	if err == nil {
		return C.int64_t(n)
	}
	text := []byte(err.Error())
	C.spade_go_set_error((*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text)))
	return C.int64_t(-host.Code(err))
}

// with is like the function result, but it passes the open node with the given handle to call.
func with(handle C.int32_t, call func(n *node) (int64, error)) C.int64_t {
	return result(func() (int64, error) {
		n, ok := open.Load(int32(handle))
		if !ok {
			return 0, host.Usagef("%d is not the handle of an open node", handle)
		}
		return call(n.(*node))
	})
}

// text copies the text that read returns for an open node to the host's memory, cut to size bytes with the final NUL. It
// returns the length of the whole text.
func text(handle C.int32_t, to *C.char, size C.size_t, read func(n *node) ([]byte, error)) C.int64_t {
	return with(handle, func(n *node) (int64, error) {
		from, err := read(n)
		if err == nil && to != nil && size > 0 {
			room := unsafe.Slice((*byte)(unsafe.Pointer(to)), size)
			room[copy(room[:size-1], from)] = 0
		}
		return int64(len(from)), err
	})
}

func bytesOf(from *C.char, length C.size_t) []byte {
	if from == nil {
		return nil
	}
	return append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(from)), length)...)
}

//export spade_abi
func spade_abi() C.int32_t { return C.SPADE_ABI }

//export spade_go_open
func spade_go_open(
	path, nodeText *C.char, nodeLength C.size_t, fleetText *C.char, fleetLength C.size_t, folder *C.char,
	samples C.size_t, call, user C.uintptr_t,
) C.int32_t {
	return C.int32_t(result(func() (int64, error) {
		files := host.Files{Node: bytesOf(nodeText, nodeLength), Fleet: bytesOf(fleetText, fleetLength)}
		if path != nil {
			files.Path = C.GoString(path)
		}
		if folder != nil {
			files.Folder = C.GoString(folder)
		}
		if files.Path == "" && files.Node == nil {
			return 0, host.Usagef("no node file: give its path or its text")
		}
		var oracle *host.Loss
		if call != 0 {
			l := &loss{call: call, user: user}
			oracle = &host.Loss{OracleFunc: l.ask, End: l.end}
		}
		n, err := host.Open(files, oracle, uint64(samples))
		if err != nil {
			return 0, err
		}
		number := last.Add(1)
		if number <= 0 {
			return 0, host.Usagef("all %d handles of this process have been used", math.MaxInt32)
		}
		open.Store(number, &node{Node: n})
		return int64(number), nil
	}))
}

//export spade_go_lines
func spade_go_lines(handle C.int32_t, line, user C.uintptr_t) C.int32_t {
	return C.int32_t(with(handle, func(n *node) (int64, error) {
		if err := n.Ready(); err != nil {
			return 0, err
		}
		n.one.Lock()
		defer n.one.Unlock()
		n.lines = func(string) {}
		if line != 0 {
			n.lines = func(text string) { n.say(text, line, user) }
		}
		return 0, nil
	}))
}

//export spade_run
func spade_run(handle C.int32_t, flags C.uint32_t) C.int32_t {
	return C.int32_t(with(handle, func(n *node) (int64, error) {
		if flags&^C.SPADE_ANYWAY != 0 {
			return 0, host.Usagef("the flags are %#x, want SPADE_ANYWAY or 0", flags)
		}
		if err := n.Ready(); err != nil {
			return 0, err
		}
		return 0, n.Run(host.Options{Anyway: flags&C.SPADE_ANYWAY != 0, Lines: n.lines})
	}))
}

//export spade_stop
func spade_stop(handle C.int32_t) C.int32_t {
	return C.int32_t(with(handle, func(n *node) (int64, error) {
		n.Stop()
		return 0, nil
	}))
}

//export spade_status
func spade_status(handle C.int32_t, to *C.char, size C.size_t) C.int64_t {
	return text(handle, to, size, (*node).Status)
}

//export spade_model
func spade_model(handle C.int32_t, to *C.float, count C.size_t) C.int64_t {
	return with(handle, func(n *node) (int64, error) {
		if to == nil {
			count = 0
		}
		if d := n.Dim(); uint64(count) < uint64(d) {
			return 0, host.Usagef("the model has %d numbers (spade_dim), but there is room for %d", d, count)
		}
		x, err := n.Model()
		if err != nil {
			return 0, err
		}
		return int64(copy(unsafe.Slice((*float32)(to), len(x)), x)), nil
	})
}

//export spade_dim
func spade_dim(handle C.int32_t) C.int64_t {
	return with(handle, func(n *node) (int64, error) { return int64(n.Dim()), nil })
}

//export spade_certificate
func spade_certificate(handle C.int32_t, to *C.char, size C.size_t) C.int64_t {
	return text(handle, to, size, (*node).Certificate)
}

//export spade_close
func spade_close(handle C.int32_t) C.int32_t {
	return C.int32_t(with(handle, func(n *node) (int64, error) {
		open.Delete(int32(handle))
		n.Stop()
		return 0, nil
	}))
}
