package tradeoff

import (
	"context"
	"fmt"
	"os"
	"testing"
)

func TestTune(t *testing.T) {
	s, err := tune(context.Background(), os.Getenv("OUT"), os.Stderr)
	fmt.Println(s, err)
}
