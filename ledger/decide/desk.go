package decide

import "github.com/holdshort/holdshort/ledger/quota"

// desk is what nominating one Job writes on. Desks are used again by the next plan,
// since most of what is written there is of use only for a moment.
type desk struct {
	entry
	own     assignment
	sets    [1]chosen
	tried   [1][]int
	uses    [4]use
	flavors [4]int
	reached [4]int
	founds  [4]found
	needs   [4]quota.PairID
}

// desks are in blocks, so that a desk stays where it is when others are added.
type desks struct {
	blocks [][]desk
	next   int
}

const desksInBlock = 64

// desk returns one that is clean.
func (d *desks) desk() *desk {
	at, in := d.next/desksInBlock, d.next%desksInBlock
	if at == len(d.blocks) {
		d.blocks = append(d.blocks, make([]desk, desksInBlock))
	}
	d.next++
	one := &d.blocks[at][in]
	*one = desk{}
	return one
}

// clear makes all desks free again.
func (d *desks) clear() { d.next = 0 }
