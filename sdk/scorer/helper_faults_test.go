package scorer_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

func misbehave(p *program, how, path string, q question) {
	good := map[string]any{"id": q.ID, "loss": lossOf(q.X, q.Sample)}
	p.flush()
	switch how {
	case "exits", "other samples":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "dies for good":
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			panic(err)
		}
		os.Exit(7)
	case "kills itself":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		hang()
	case "hangs":
		hang()
	case "answers twice":
		p.send(good)
		p.send(good)
	case "two hellos":
		p.send(good)
		p.send(map[string]any{"hello": 1, "dim": dim, "samples": samples})
	case "answers a stranger":
		p.send(map[string]any{"id": 999, "loss": 1})
	case "talks nonsense":
		p.raw("\x06\x00\x00\x00debug\n")
	case "closes stdout":
		os.Stdout.Close()
		hang()
	case "closes stdin":
		os.Stdin.Close()
		p.send(good)
		p.flush()
		hang()
	case "floods stdout":
		for {
			p.raw(strings.Repeat("x", 1<<16))
		}
	case "floods stderr":
		fmt.Fprintln(os.Stderr, strings.Repeat("tra la la ", 1<<16), "the end")
		os.Exit(3)
	case "stops half way and hangs":
		p.raw("\x07\x00\x00\x00abc")
		p.flush()
		hang()
	case "stops half way":
		p.raw("\x07\x00\x00\x00abc")
		p.flush()
		os.Exit(0)
	case "NaN":
		p.raw(fmt.Sprintf(`{"id":%d,"loss":NaN}`+"\n", q.ID))
	case "error":
		p.send(map[string]any{"id": q.ID, "error": "the instrument is off"})
	case "leaves a child": // with all pipes open
		cmd := exec.Command(os.Args[0], asScorer, "json", "no hello")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, fmt.Append(nil, cmd.Process.Pid), 0o600); err != nil {
			panic(err)
		}
		os.Exit(0)
	default:
		panic("no such misbehavior: " + how)
	}
	p.flush()
}
