package policies

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Weight of a share, in millionths, so that it is exact. In data it is a number
// with at most six decimals: 2, 0.5, 0.
type Weight int64

const (
	wholeWeight = 1_000_000
	// MostWeight keeps products of shares far from where they overflow.
	MostWeight    = 1_000_000
	leastDecimals = 1e-7 // below that there are more decimals than six, whatever they are
)

// Millionths of the weight; without one it is 1.
func (w *Weight) Millionths() int64 {
	if w == nil {
		return wholeWeight
	}
	return int64(*w)
}

// ParseWeight reads a JSON number, exactly. What it cannot hold is refused, never
// rounded.
func ParseWeight(text string) (Weight, error) {
	near, err := strconv.ParseFloat(text, 64)
	if strings.Trim(text, "0123456789.eE+-") != "" || errors.Is(err, strconv.ErrSyntax) {
		return 0, fmt.Errorf("%q is no number. Try: 0 to %d", text, MostWeight)
	}
	if err != nil || strings.HasPrefix(text, "-") || near > MostWeight {
		return 0, fmt.Errorf("%s is no weight. Try: 0 to %d", text, MostWeight)
	}
	if near < leastDecimals { // nor is an exponent written out that fills the memory
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.ContainsAny(mantissa, "123456789") {
			return 0, tooFine(text)
		}
		return 0, nil
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("%q is no number. Try: 0 to %d", text, MostWeight)
	}
	exact.Mul(exact, big.NewRat(wholeWeight, 1))
	if !exact.IsInt() {
		return 0, tooFine(text)
	}
	if exact.Num().Cmp(big.NewInt(wholeWeight*MostWeight)) > 0 {
		return 0, fmt.Errorf("%s is no weight. Try: 0 to %d", text, MostWeight)
	}
	return Weight(exact.Num().Int64()), nil
}

func tooFine(text string) error {
	return fmt.Errorf("%s: a weight has at most 6 decimals. Try: 0.000001 or more, or 0", text)
}

// UnmarshalJSON reads a number; anything else is an error.
func (w *Weight) UnmarshalJSON(text []byte) error {
	parsed, err := ParseWeight(string(text))
	if err != nil {
		return fmt.Errorf("weight: %w", err)
	}
	*w = parsed
	return nil
}

// MarshalJSON writes it as it is read.
func (w Weight) MarshalJSON() ([]byte, error) { return []byte(w.String()), nil }

// String is the weight as it is written in data.
func (w Weight) String() string {
	text := new(big.Rat).SetFrac64(int64(w), wholeWeight).FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
