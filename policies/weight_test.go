package policies

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWeightsAreExact(t *testing.T) {
	for text, want := range map[string]Weight{
		"0": 0, "0.0": 0, "0e999999999": 0, "1": 1_000_000, "2": 2_000_000, "0.5": 500_000, "0.1": 100_000,
		"0.000001": 1, "1e-6": 1, "12e-1": 1_200_000, "1000000": 1_000_000_000_000, "1e6": 1_000_000_000_000,
		"0.3000000000000000000000": 300_000, "999999.999999": 999_999_999_999,
	} {
		got, err := ParseWeight(text)
		if err != nil || got != want {
			t.Errorf("%s is %d millionths, %v; want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoWeightIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"-1": "-1 is no weight", "-0.0": "-0.0 is no weight", "-0": "is no weight", "-0.000001": "is no weight", "1000000.000001": "is no weight", "1e400": "is no weight",
		"1000000.0000000000000001": "at most 6 decimals",
		"1e-7":                     "at most 6 decimals", "0.0000005": "at most 6 decimals", "1e-999999999": "at most 6 decimals",
		"0.30000000000000001": "at most 6 decimals",
		"NaN":                 "is no number", "Inf": "is no number", `"2"`: "is no number", "0x1p4": "is no number", "1_0": "is no number",
		"": "is no number", "null": "is no number", "1e": "is no number",
	} {
		_, err := ParseWeight(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Try: ") {
			t.Errorf("%q: %v; want %q and what to try", text, err, want)
		}
	}
}

func TestWeightsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Weight(rapid.Int64Range(0, wholeWeight*MostWeight).Draw(t, "millionths"))
		text, err := json.Marshal(Cohort{Weight: &w})
		if err != nil {
			t.Fatal(err)
		}
		var back Cohort
		if err := json.Unmarshal(text, &back); err != nil || *back.Weight != w {
			t.Fatalf("%d is written as %s and read as %v, %v", w, text, back.Weight, err)
		}
	})
}

func TestNoWeightIsOne(t *testing.T) {
	if got := (*Weight)(nil).Millionths(); got != 1_000_000 {
		t.Errorf("no weight is %d millionths", got)
	}
}
