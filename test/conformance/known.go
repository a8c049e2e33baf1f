package main

// known is the cases that come out otherwise here, and why: sums that are held at
// the limit of an integer turn into boundless quotas there, never here.
func known() map[string]string {
	const unlimited = "a sum of quotas at the limit of an integer becomes boundless there; here it is a number of which use takes"
	return map[string]string{
		"arith-027":                       unlimited,
		"arith-047":                       unlimited,
		"arith-087":                       unlimited,
		"huge-cohort-sum-overflows":       "6Ei and 6Ei make a boundless quota there; here they make 8Ei less one, so both Jobs don't start at once",
		"huge-request-overflows-by-count": "4 × 4Ei is held at 8Ei less one and fits 8Ei there; here what can't be counted never fits",
	}
}
