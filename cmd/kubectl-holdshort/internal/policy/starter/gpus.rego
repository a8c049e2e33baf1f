package holdshort.policy

import data.holdshort.lib

# METADATA
# title: One Job does not take everything
deny contains lib.reason("team.example/TooManyGPUs", message) if {
	asked := lib.total("nvidia.com/gpu")
	most := data.holdshort.config.custom.gpusPerJob
	asked > most
	message := sprintf("%d GPUs asked; one Job may have %d", [asked, most])
}
