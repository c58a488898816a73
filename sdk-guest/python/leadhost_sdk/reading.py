"""What converters and adapters read with: the body of a delivery, values by their paths, and texts
as sources write them."""

from .body import *
from .forms import *
from .paths import *
from .plugin import *
from .scalars import *
from .times import *
from .values import *
