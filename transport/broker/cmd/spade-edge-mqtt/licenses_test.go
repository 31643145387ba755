package main

import (
	"testing"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

func TestLicenses(t *testing.T) { brokertest.Licenses(t, "") }
