"""Joint fits over processes: a coordinator without rows asks, and every holder answers from its own table.

Messages, carriers of messages, journals, the holder and the coordinator. What is sent is bytes; who carries
them is a `Transport`.
"""

from dpglm.exchange.dask_queues import DaskQueues as DaskQueues
from dpglm.exchange.folder import Folder as Folder
from dpglm.exchange.holder import Holder as Holder
from dpglm.exchange.transcript import Transcript as Transcript
from dpglm.exchange.transport import Box as Box
from dpglm.exchange.transport import InProcess as InProcess
from dpglm.exchange.transport import Transport as Transport
