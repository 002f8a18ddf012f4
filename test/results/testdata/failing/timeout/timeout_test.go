package timeout

import (
	"testing"
	"time"
)

func TestSlow(*testing.T) { time.Sleep(time.Minute) }
