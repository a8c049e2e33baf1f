package holdshort.policy

import data.holdshort.lib

# METADATA
# title: Every Job has a cost centre
warn contains lib.reason("team.example/NoCostCentre", "add the label cost-centre, so that we know who pays") if {
	lib.label("cost-centre", "") == ""
}
