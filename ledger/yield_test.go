package ledger

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestCreationsWaitForWritesThatTakeLong(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		writes [][2]time.Duration // from and until, after the start
		at     time.Duration      // when somebody comes
		until  time.Duration
	}{
		"nothing is written":                         {at: 10 * ms, until: 10 * ms},
		"writes are quick":                           {[][2]time.Duration{{0, 20 * ms}, {10 * ms, 30 * ms}}, 15 * ms, 15 * ms},
		"one takes long already":                     {[][2]time.Duration{{0, 200 * ms}}, 60 * ms, 200 * ms},
		"the one before took long":                   {[][2]time.Duration{{0, 100 * ms}, {90 * ms, 130 * ms}}, 110 * ms, 130 * ms},
		"others come meanwhile":                      {[][2]time.Duration{{0, 200 * ms}, {150 * ms, 300 * ms}, {290 * ms, 400 * ms}}, 60 * ms, 400 * ms},
		"the next are quick again":                   {[][2]time.Duration{{0, 200 * ms}, {190 * ms, 210 * ms}, {205 * ms, 230 * ms}}, 60 * ms, 210 * ms},
		"it does not end":                            {[][2]time.Duration{{0, time.Hour}}, 60 * ms, 1060 * ms},
		"the last took long, and nothing is written": {[][2]time.Duration{{0, 200 * ms}}, 300 * ms, 300 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, u := time.Now(), newUnderWay()
				for _, write := range c.writes {
					time.AfterFunc(write[0], func() {
						end := u.begin()
						time.AfterFunc(write[1]-write[0], end)
					})
				}
				time.Sleep(c.at)
				u.wait(t.Context(), time.Second)
				if got := time.Since(began); got != c.until {
					t.Errorf("it goes on after %s, want %s", got, c.until)
				}
			})
		})
	}
}

func TestACreationThatIsGivenUpWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, u := time.Now(), newUnderWay()
		u.begin()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		u.wait(ctx, time.Second)
		if got := time.Since(began) - time.Minute; got != 20*time.Millisecond {
			t.Errorf("it goes on after %s", got)
		}
	})
}
