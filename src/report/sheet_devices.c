/* sheet_devices.c: which devices measured the trials, what they did in the finish, and what makes
   the finish less sure. */
#include "report/sheet_builder.h"

#include <string.h>

void ak_sheets_add_warnings(ak_sheet_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "warnings");
    if (json_array_size(list) == 0) {
        return;
    }
    ak_sheet_begin(b, "Warnings", 2);
    for (size_t i = 0; i < json_array_size(list); i++) {
        ak_sheet_pair(b, "warning", json_string_value(json_array_get(list, i)));
    }
}

void ak_sheets_add_devices(ak_sheet_builder *b, const ak_report_model *model)
{
    if (model->device_count == 0 || (model->device_count == 1 && model->devices[0].uuid[0] == 0)) {
        return; /* the run has said it */
    }
    ak_sheet_begin(b, "Devices", 6);
    if (model->device_count > 1) {
        b->sheet->note = "They share the trials of the search; the finish is on the run's device.";
    }
    ak_sheet_column(b, 0, "device", false);
    ak_sheet_column(b, 1, "trials", true);
    ak_sheet_column(b, 2, "ok", true);
    ak_sheet_column(b, 3, "best ms", true);
    ak_sheet_column(b, 4, "mean SM MHz", true);
    ak_sheet_column(b, 5, "uuid", false);
    for (size_t i = 0; i < model->device_count; i++) {
        const ak_report_device *device = &model->devices[i];
        ak_sheet_cell(b, device->name);
        ak_sheet_cellf(b, "%zu", device->trials);
        ak_sheet_cellf(b, "%zu", device->ok);
        ak_sheet_figure(b, "%.6g", device->best_ms);
        ak_sheet_figure(b, "%.0f", device->clocked > 0 ? device->mhz / (double)device->clocked : 0);
        ak_sheet_cell(b, device->uuid);
    }
}

static double figure(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void ak_sheets_add_conditions(ak_sheet_builder *b, const ak_report_model *model)
{
    const json_t *list = json_object_get(model->result, "contestants");
    bool any = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        any = any || figure(json_array_get(list, i), "sm_clock_mhz") > 0;
    }
    if (!any) {
        return;
    }
    ak_sheet_begin(b, "Finish: what the device did", 7);
    b->sheet->note = "Means of samples while each ran. Utilisation: of the arithmetic units at "
                     "that clock; it compares kernels whatever the clock was.";
    ak_sheet_column(b, 0, "contestant", false);
    ak_sheet_column(b, 1, "SM MHz", true);
    ak_sheet_column(b, 2, "memory MHz", true);
    ak_sheet_column(b, 3, "W", true);
    ak_sheet_column(b, 4, "degrees C", true);
    ak_sheet_column(b, 5, "held back by", false);
    ak_sheet_column(b, 6, "utilisation", true);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *throttle = json_string_value(json_object_get(one, "throttle"));
        ak_sheet_cell(b, name == NULL ? "" : name);
        ak_sheet_figure(b, "%.0f", figure(one, "sm_clock_mhz"));
        ak_sheet_figure(b, "%.0f", figure(one, "memory_clock_mhz"));
        ak_sheet_figure(b, "%.0f", figure(one, "power_watts"));
        ak_sheet_figure(b, "%.0f", figure(one, "temperature_celsius"));
        ak_sheet_cell(b, throttle == NULL ? "-" : throttle);
        ak_sheet_figure(b, "%.1f %%", figure(one, "utilisation") * 100);
    }
}
