# case: time zones are there, by name and by TZ
# needs: zoneinfo
# want-verdict: ok
# want-stdout: ^named 2024-01-15 21:00 JST$
# want-stdout: ^variable 2024-01-15 13:00 CET$
import os
import time
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
noon = datetime(2024, 1, 15, 12, 0, tzinfo=timezone.utc)
print("named", noon.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%Y-%m-%d %H:%M %Z"))
os.environ["TZ"] = "Europe/Berlin"
time.tzset()
print("variable", time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(noon.timestamp())))
