package sim

// chance is numbers that look like chance and follow from a seed (splitmix64).
type chance uint64

// below is a number from 0 to n-1.
func (c *chance) below(n int64) int64 {
	*c += 0x9e3779b97f4a7c15
	z := uint64(*c)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) % uint64(n))
}
